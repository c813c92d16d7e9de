# environment: CartPole-v1
# arguments: {}
# expect: code=unbounded-loop line=6
def observe(observation):
    scaled = observation * 2.0
    while True:
        scaled = scaled / 2.0
    return scaled
