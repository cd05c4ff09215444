import type { ProviderWorld } from '../conformance/world.ts';

type Serve = NonNullable<ProviderWorld['serve']>;

const http = (port: number): string => `require('node:http')
  .createServer((request, response) => {
    response.statusCode = request.url === '/healthy' ? 200 : 503;
    response.end('law');
  })
  .listen(${port})`;

/** The health service of gRPC: a request without a service is answered with SERVING, any other with NOT_FOUND. */
const grpc = (port: number): string => `require('node:http2')
  .createServer()
  .on('stream', (stream) => {
    const parts = [];
    stream.on('data', (part) => parts.push(part));
    stream.on('end', () => {
      const hasService = Buffer.concat(parts).length > 5;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': hasService ? '5' : '0' }));
      stream.end(Buffer.from(hasService ? [] : [0, 0, 0, 0, 2, 8, 1]));
    });
  })
  .listen(${port})`;

/** Servers of containers that run the programs of this machine: Node.js. */
export const nodeServer: Serve = (protocol, port) => [
  process.execPath,
  '-e',
  protocol === 'http' ? http(port) : grpc(port),
];

/** Servers of containers with busybox, which has none for gRPC. */
export const busyboxServer: Serve = (protocol, port) => {
  const script = `mkdir -p /tmp/law && echo law > /tmp/law/healthy && exec httpd -f -p ${port} -h /tmp/law`;
  return protocol === 'http' ? ['/bin/sh', '-c', script] : undefined;
};
