"""A greenhouse in spring: heat it and air it through one day, so that the crop grows and the gas bill stays small."""

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

STEP_SECONDS = 600.0
HEAT_CAPACITY = 30e3  # of air, soil and plants, J/(K m2 of floor)
HEATER_POWER = 150.0  # W/m2 at full power
GLASS_LOSS, VENT_LOSS = 6.0, 25.0  # W/(K m2): closed, and what fully open vents add
SUN_SHARE = 0.6  # of the sunlight that warms the inside
AIR_HEIGHT = 4.0  # m
LEAK_FLOW, VENT_FLOW = 0.0003, 0.005  # air exchange, m3/(s m2): closed, and what fully open vents add
GROWTH_VALUE = 3.0  # cents/m2 per step at full sun and the best temperature
BEST_TEMPERATURE, TEMPERATURE_WIDTH = 23.0, 7.0  # deg C
MOULD_HUMIDITY = 0.85  # relative humidity above which mould grows
MOULD_COST, CHILL_COST, DEATH_COST = 2.0, 0.4, 150.0  # cents/m2: per step at 100 %, per step and degree, once


def saturation(temperature: float) -> float:
    """Give the water that air can hold at a temperature in deg C, g/m3 (Magnus formula)."""
    pressure = 611.2 * math.exp(17.62 * temperature / (243.12 + temperature))
    return pressure / (461.5 * (temperature + 273.15)) * 1000.0


class Greenhouse(gymnasium.Env[np.ndarray, np.ndarray]):
    """One day in steps of ten minutes, from midnight to midnight.

    Observation (8): inside temperature (deg C), relative humidity (0 to 1), outside temperature (deg C), sunlight (W/m2),
    energy price (cents/kWh), sine and cosine of the time of day, heating of the last step (0 to 1).
    Action (2): heating power and vent opening, 0 to 1 each.
    Reward: value of the growth minus energy, mould and chill, cents/m2. Frost or scorching kills the crop and ends the day.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}  # noqa: RUF012 - so Gymnasium wants it

    def __init__(self, render_mode: str | None = None, max_episode_steps: int = 144) -> None:
        """Declare the spaces."""
        low = np.array([-20, 0, -30, 0, 0, -1, -1, 0], dtype=np.float32)
        high = np.array([60, 1, 50, 1200, 100, 1, 1, 1], dtype=np.float32)
        self.observation_space = spaces.Box(low, high)
        self.action_space = spaces.Box(0.0, 1.0, (2,), np.float32)
        self.render_mode, self.max_episode_steps = render_mode, max_episode_steps

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Draw the weather and the prices of a new day."""
        super().reset(seed=seed)
        draw = self.np_random.uniform
        self.steps, self.heating, self.opening = 0, 0.0, 0.0
        self.mean_outside, self.swing = draw(-3.0, 12.0), draw(3.0, 8.0)
        self.brightness, self.clouds, self.price_level = draw(300.0, 800.0), draw(0.0, 0.6), draw(12.0, 30.0)
        self.temperature = draw(14.0, 20.0)
        self.water = draw(0.6, 0.85) * saturation(self.temperature)  # g/m3
        self._look_outside()
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Heat and air for ten minutes."""
        self.heating, self.opening = (float(value) for value in np.clip(action, 0.0, 1.0))
        loss = (GLASS_LOSS + VENT_LOSS * self.opening) * (self.temperature - self.outside)
        gain = HEATER_POWER * self.heating + SUN_SHARE * self.sun
        self.temperature += STEP_SECONDS / HEAT_CAPACITY * (gain - loss)
        transpired = 0.004 + 0.016 * self.sun / 800.0  # g/(s m2)
        flow = LEAK_FLOW + VENT_FLOW * self.opening
        outside_water = 0.75 * saturation(self.outside)
        self.water += STEP_SECONDS / AIR_HEIGHT * (transpired - flow * (self.water - outside_water))
        self.water = float(np.clip(self.water, 0.5, saturation(self.temperature)))  # the rest condenses on the glass
        self.steps += 1
        self._look_outside()

        off = (self.temperature - BEST_TEMPERATURE) / TEMPERATURE_WIDTH
        growth = GROWTH_VALUE * min(self.sun / 500.0, 1.0) * math.exp(-off * off)
        energy_kwh = HEATER_POWER * self.heating * STEP_SECONDS / 3.6e6
        mould = MOULD_COST * max(0.0, self.humidity - MOULD_HUMIDITY) / (1.0 - MOULD_HUMIDITY)
        chill = CHILL_COST * max(0.0, 12.0 - self.temperature)
        is_dead = not 1.0 < self.temperature < 45.0
        info = {"growth": growth, "energy_cost": self.price * energy_kwh, "mould_cost": mould, "chill_cost": chill}
        original_reward = growth - info["energy_cost"] - mould - chill - DEATH_COST * is_dead
        return self._observation(), original_reward, is_dead, self.steps >= self.max_episode_steps, info

    @property
    def humidity(self) -> float:
        """Relative humidity inside, 0 to 1."""
        return min(self.water / saturation(self.temperature), 1.0)

    def _look_outside(self) -> None:
        """Move weather and price on to the present time of day."""
        hour = 24.0 * self.steps / 144.0 % 24.0
        self.clouds = float(np.clip(0.95 * self.clouds + 0.015 + 0.05 * self.np_random.normal(), 0.0, 0.9))
        self.sun = self.brightness * max(0.0, math.sin(math.pi * (hour - 6.0) / 12.0)) * (1.0 - self.clouds)
        self.outside = self.mean_outside - self.swing * math.cos(2.0 * math.pi * (hour - 3.0) / 24.0)
        self.price = self.price_level * (1.0 + 0.6 * math.exp(-((hour - 19.0) ** 2) / 4.0))
        self.angle = 2.0 * math.pi * hour / 24.0

    def _observation(self) -> np.ndarray:
        time = math.sin(self.angle), math.cos(self.angle)
        values = [self.temperature, self.humidity, self.outside, self.sun, self.price, *time, self.heating]
        return np.clip(np.array(values, np.float32), self.observation_space.low, self.observation_space.high)

    def render(self) -> np.ndarray:
        """Draw the house: its colour is the temperature, the mist its humidity, the roof gap the vents."""
        picture = np.zeros((96, 160, 3), np.uint8)
        picture[:70] = np.array([90, 140, 220]) * (0.25 + 0.75 * min(self.sun / 600.0, 1.0))  # sky
        picture[70:] = (90, 70, 40)  # soil
        warmth = float(np.clip((self.temperature - 5.0) / 30.0, 0.0, 1.0))
        picture[30:70, 40:120] = (60 + 190 * warmth, 120, 250 - 190 * warmth)
        picture[70 - int(38 * self.humidity) : 70, 44:48] = (235, 235, 255)  # humidity
        picture[70 - int(38 * self.heating) : 70, 112:116] = (255, 60, 0)  # heating
        picture[26:30, 40:120] = (230, 230, 230)  # roof
        picture[26:30, 80 - int(30 * self.opening) : 80 + int(30 * self.opening)] = picture[0, 0]  # open vents
        return picture
