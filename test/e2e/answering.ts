import { createServer, type Server as HttpServer } from 'node:http';
import { createServer as createGrpcServer, type Http2Server } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { Server } from 'node:net';
import { selfSigned } from '../../src/pki/self-signed.ts';

/** A server of the test's own process, on every address of the machine, for probes and hooks to ask. */
export interface Answering {
  readonly port: number;
  /** What was asked for, in order. */
  readonly asked: readonly string[];
  /** Whether it says that all is well; true at first. */
  isWell: boolean;
  close(): Promise<void>;
}

const grpc = { ok: '0', notFound: '5' };

/** Answers as `grpc.health.v1.Health`, for one service. */
export const grpcHealth = (service: string): Promise<Answering> =>
  answering((state) => {
    const server: Http2Server = createGrpcServer();
    server.on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        state.asked.push(String(headers[':path']));
        const isKnown = Buffer.concat(chunks).subarray(7).toString() === service; // after prefix, field and length
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => {
          stream.sendTrailers({ 'grpc-status': isKnown ? grpc.ok : grpc.notFound });
        });
        stream.end(isKnown ? Buffer.from([0, 0, 0, 0, 2, 8, state.isWell ? 1 : 2]) : undefined);
      });
    });
    return server;
  });

/** Answers over TLS with a certificate that nobody trusts, or in the clear. */
export const web = (secure: boolean): Promise<Answering> =>
  answering((state): HttpServer => {
    const make = secure ? createHttpsServer.bind(undefined, selfSigned('e2e', Date.now())) : createServer;
    return make((request, response) => {
      state.asked.push(request.url ?? '');
      response.writeHead(state.isWell ? 200 : 500).end();
    });
  });

interface State {
  readonly asked: string[];
  isWell: boolean;
}

async function answering(make: (state: State) => Server): Promise<Answering> {
  const state: State = { asked: [], isWell: true };
  const server = make(state);
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
    });
  return Object.assign(state, { port: typeof address === 'object' && address ? address.port : 0, close });
}
