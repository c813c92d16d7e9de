# One image for the four servers, the Generator and TensorBoard; docker-compose.yml says who runs what.
FROM python:3.11-slim-bookworm

# bubblewrap runs code that we did not write; the rest renders without a display.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap libegl1 libegl-mesa0 libgl1-mesa-dri \
    && rm -rf /var/lib/apt/lists/*

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1
WORKDIR /app

# torch first and alone: it is the largest layer and changes least.
COPY constraints.txt ./
# The index of CPU wheels that PyTorch's installation page gives saves gigabytes: --build-arg TORCH_INDEX=ADDRESS
ARG TORCH_INDEX=
RUN pip install -c constraints.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch

COPY pyproject.toml README.md LICENSE ./
COPY schemas schemas
COPY servers servers
COPY generator generator
COPY target_templates target_templates
RUN pip install -c constraints.txt '.[all]'

RUN useradd --create-home --uid 1000 agent2 && install -d -o agent2 -g agent2 /workspace
USER agent2
ENV AGENT2_WORKSPACE=/workspace
VOLUME /workspace
WORKDIR /workspace
CMD ["agent2", "--help"]
