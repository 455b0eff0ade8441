# The container of pocketsim: `docker build -t pocketsim .`, docs/cluster.md.
#
# Targets: pocketsim (the last, which has no compiler), notebook (JupyterLab), apk (the Android app, as a
# file: --output DIR), wheel (the same for dist/*.whl). What changes often comes late: a change of
# Python code compiles neither SimGrid nor the engine. No heredocs, which older builders lack.

# Other bases of the same Debian will do; by digest (debian@sha256:...) they stay what they are.
ARG DEBIAN=docker.io/library/debian:bookworm-slim
# Its Rust is by rustup, as the targets for phones need.
ARG RUST=docker.io/library/rust:1.95-slim-bookworm

FROM ${DEBIAN} AS python
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log

# uv, which installs what uv.lock says.
FROM python AS installer
ARG UV=0.13.9
# Whom the system trusts, pip and uv do, too.
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    UV_LINK_MODE=copy UV_PYTHON=/usr/bin/python3
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends ca-certificates python3-venv \
    && python3 -m venv /usr/local/lib/uv \
    && /usr/local/lib/uv/bin/pip install --quiet --disable-pip-version-check uv==${UV} \
    && ln -s ../lib/uv/bin/uv /usr/local/bin/uv
WORKDIR /source

# SimGrid, minutes of compiling; uv keeps it in its cache while uv.lock changes around it.
FROM installer AS simgrid
COPY tools/bootstrap.sh tools/apt_install.sh tools/
RUN tools/bootstrap.sh simgrid
COPY pyproject.toml uv.lock ./
COPY tools/simgrid_sdk.py tools/simgrid.cmake tools/
COPY sim/engine/shim sim/engine/shim
RUN --mount=type=cache,target=/root/.cache/uv \
    CMAKE_TOOLCHAIN_FILE=/source/tools/simgrid.cmake uv sync --frozen --only-group engine --only-group simgrid \
    && mkdir -p pocketsim/sim && .venv/bin/python tools/simgrid_sdk.py

# The engine, in a package without Python code: cargo then finds it compiled.
FROM simgrid AS engine
COPY Cargo.toml Cargo.lock LICENSE README.md ./
COPY licenses licenses
COPY device_probe device_probe
COPY sim sim
COPY tools/wheel.py tools/
RUN touch pocketsim/__init__.py pocketsim/sim/__init__.py \
    && .venv/bin/python tools/wheel.py

FROM engine AS package
COPY pocketsim pocketsim
RUN .venv/bin/python tools/wheel.py

# A wheel that is there already is taken by --build-context wheel=dist.
FROM scratch AS wheel
COPY --from=package /source/dist/*.whl /

# What pocketsim imports, as locked, without its tests (50 MB) and without pyarrow's symbol tables (35 MB).
FROM installer AS libraries
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends binutils
ENV UV_PROJECT_ENVIRONMENT=/usr/local/lib/pocketsim VIRTUAL_ENV=/usr/local/lib/pocketsim
COPY pyproject.toml uv.lock ./
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync --frozen --no-default-groups --no-install-project --extra fit --extra dask \
    && find ${VIRTUAL_ENV}/lib -type d -name tests -prune -exec rm -rf {} + \
    && strip --strip-unneeded ${VIRTUAL_ENV}/lib/python3.11/site-packages/pyarrow/*.so*

# A user who may not write here cannot keep compiled modules: they are made by a run and its report.
# To compile all would take 70 MB more.
FROM libraries AS environment
COPY --from=wheel /pocketsim-*.whl dist/
RUN uv pip install --python ${VIRTUAL_ENV} --no-deps --no-cache dist/*.whl \
    && cd /tmp && ${VIRTUAL_ENV}/bin/pocketsim run udp_100b --set workload.rate=4/s --set run.duration=1s --out runs \
    && ${VIRTUAL_ENV}/bin/pocketsim report runs -o page.html \
    && ${VIRTUAL_ENV}/bin/python -m compileall -q ${VIRTUAL_ENV}/lib/python3.11/site-packages/pocketsim

FROM environment AS notebook_environment
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync --frozen --inexact --no-default-groups --no-install-project --extra notebook --group jupyter

FROM ${RUST} AS app
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
WORKDIR /source
COPY tools/bootstrap.sh tools/apt_install.sh tools/
RUN tools/bootstrap.sh
COPY tools/__init__.py tools/
COPY tools/android tools/android
RUN tools/android/bootstrap.sh
COPY Makefile pyproject.toml uv.lock Cargo.toml Cargo.lock ./
COPY device_probe device_probe
COPY sim sim
RUN make apk

FROM scratch AS apk
COPY --from=app /source/build/android/probe.apk /

# Any user will do (--user), with or without a home: what is written goes below /work or /tmp.
FROM python AS base
ENV PATH=/usr/local/lib/pocketsim/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/tmp PYTHONUNBUFFERED=1
RUN useradd --uid 1000 --user-group --no-create-home --home-dir /tmp pocketsim \
    && mkdir -m 1777 /work
WORKDIR /work
USER 1000:1000
# A process of number 1 does not heed SIGTERM unless it says so; Python does heed this.
STOPSIGNAL SIGINT
ARG DEBIAN
ARG VERSION=0.3.0
# The commit that it is built from.
ARG REVISION=unknown
LABEL org.opencontainers.image.title="pocketsim" \
      org.opencontainers.image.description="Discrete-event network simulator of phones that trade over TrustChain" \
      org.opencontainers.image.licenses="Apache-2.0 AND LGPL-2.1-only" \
      org.opencontainers.image.vendor="The pocketsim authors" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${DEBIAN}"

FROM base AS notebook
COPY --from=notebook_environment /usr/local/lib/pocketsim /usr/local/lib/pocketsim
EXPOSE 8888
ENTRYPOINT ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser"]

FROM base AS pocketsim
COPY --from=environment /usr/local/lib/pocketsim /usr/local/lib/pocketsim
ENTRYPOINT ["pocketsim"]
CMD ["--help"]
