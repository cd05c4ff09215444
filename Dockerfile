# The command in a container: docker run --rm -p 6443:6443 podtender apiserver --host 0.0.0.0 --port 6443
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund && npm pack --pack-destination /tmp

FROM node:24-bookworm-slim
COPY --from=build /tmp/podtender-*.tgz /tmp/
RUN npm install --global --omit=dev --no-audit --no-fund /tmp/podtender-*.tgz && rm /tmp/podtender-*.tgz
USER node
WORKDIR /home/node
EXPOSE 6443
ENTRYPOINT ["podtender"]
CMD ["apiserver", "--host", "0.0.0.0", "--port", "6443"]
