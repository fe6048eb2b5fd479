# The course in a container (docs/containers.md). `docker build .` makes the learner's image, which has no solutions and no grader;
# `--build-arg ROLE=instructor` makes the instructor's. Any Debian or Ubuntu with Python 3.11, 3.12 or 3.13 can be the BASE.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS base
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git make \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --create-home --uid 1000 --shell /bin/bash learner \
  && install -d -o 1000 -g 1000 /course

# For VS Code and Codespaces (.devcontainer): there, grading has its sandbox, too.
FROM base AS development
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bubblewrap \
  && rm -rf /var/lib/apt/lists/*

# The role decides in commands, not in a FROM, where older versions of Buildah and Podman do not know an argument's default.
FROM base AS files
ARG ROLE=learner
COPY . /project
RUN case $ROLE in \
    learner) \
      if [ -d /project/grader ]; then python3 -B /project/grader/handout/learners.py /course; else cp -R /project/. /course; fi \
      && mkdir /course/.labs && cp -R /course/notebooks/. /course/.labs ;; \
    instructor) cp -R /project/. /course ;; \
    *) echo "ROLE is learner or instructor, not $ROLE" >&2; exit 1 ;; \
  esac

FROM base
ARG ROLE=learner
RUN if [ "$ROLE" = instructor ]; then \
    apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o 1000 -g 1000 -m 0700 /course/grading; \
  fi
COPY --from=files --chown=1000:1000 /course /course
USER 1000
WORKDIR /course
# The set-up takes PyTorch's CPU build from its own index. Behind a mirror without it, name one: --build-arg PIP_EXTRA_INDEX_URL=...
ARG PIP_EXTRA_INDEX_URL=
ENV HOME=/home/learner JUPYTER_PORT=8888 PATH=/course/.venv/bin:$PATH PIP_NO_CACHE_DIR=1
# A build that fails leaves no files to look into, so pip's last words are shown.
RUN { scripts/setup_environment.sh || { tail -n 30 .venv/setup.log >&2; exit 1; }; } && .venv/bin/python -m course_utils notebooks
EXPOSE 8888
HEALTHCHECK --start-period=60s --timeout=10s \
  CMD ["python", "-c", "import os; from urllib.request import urlopen; urlopen('http://127.0.0.1:%s/api' % os.environ['JUPYTER_PORT'], timeout=5)"]
CMD ["/course/scripts/start_container.sh"]
