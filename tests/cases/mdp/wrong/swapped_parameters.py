# environment: Pendulum-v1
# arguments: {}
# expect: code=parameters-swapped line=4
def act(observation, action):
    return action * 2.0
