# environment: Pendulum-v1
# arguments: {}
# expect: code=constant-without-part line=4
ACTION_SPACE = {"n": 5}
