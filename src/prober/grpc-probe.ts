import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { deadline } from './deadline.ts';
import { dial } from './dial.ts';
import { decodeServingStatus, encodeCheck } from './grpc-health.ts';
import { probeUserAgent } from './http-request.ts';
import { joinHostPort } from '../base/dial-error.ts';
import { goDuration } from './probe-port.ts';
import type { ProbeAnswer, ProbeHandler } from './prober.ts';

/** Between two tries to connect, ms. */
const reconnectMs = 1000;
const unimplemented = 12;

/** Asks the pod's `grpc.health.v1.Health` service. Follows kubelet `probe/grpc`. */
export const grpcProbe =
  (clock: Clock): ProbeHandler =>
  async ({ target, podIp, timeoutMs }) => {
    const { port = 0, service = '' } = target.probe.grpc ?? {};
    const endsAt = clock.now() + timeoutMs;
    const socket = await connectUntil(clock, endsAt, { host: podIp, port });
    const address = joinHostPort(podIp, port);
    if (!socket)
      return failure(
        `timeout: failed to connect service ${JSON.stringify(address)} within ${goDuration(timeoutMs)}: context deadline exceeded`,
      );
    const session = connect(`http://${address}`, { createConnection: () => socket });
    let expired = false;
    const hasExpired = (): boolean => expired;
    const stop = deadline(clock, Math.max(0, endsAt - clock.now()), () => {
      expired = true;
      session.destroy();
    });
    try {
      return judge(await check(session, service));
    } catch (reason) {
      if (hasExpired())
        return failure(`timeout: health rpc did not complete within ${goDuration(timeoutMs)}`);
      const why = `rpc error: code = Unavailable desc = ${messageOf(reason)}`;
      return failure(`error: health rpc probe failed: ${why}`);
    } finally {
      stop();
      session.destroy();
    }
  };

const failure = (output: string): ProbeAnswer => ({ outcome: 'failure', output });

/** A server that is not there yet is waited for, as a gRPC client does. */
async function connectUntil(
  clock: Clock,
  endsAt: number,
  address: { readonly host: string; readonly port: number },
): Promise<Socket | undefined> {
  for (let left = endsAt - clock.now(); left > 0; left = endsAt - clock.now())
    try {
      return await dial(clock, { ...address, timeoutMs: left });
    } catch {
      await clock.sleep(Math.min(reconnectMs, Math.max(0, endsAt - clock.now())));
    }
  return undefined;
}

interface Answer {
  readonly code: number;
  readonly message: string;
  readonly body: Buffer;
}

const codeNames = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

function judge({ code, message, body }: Answer): ProbeAnswer {
  if (code === unimplemented)
    return failure(
      `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${message}`,
    );
  if (code !== 0)
    return failure(
      `error: health rpc probe failed: rpc error: code = ${codeNames[code] ?? `Code(${code})`} desc = ${message}`,
    );
  const status = decodeServingStatus(body);
  return status === 'SERVING'
    ? { outcome: 'success', output: 'service healthy' }
    : failure(`service unhealthy (responded with ${JSON.stringify(status)})`);
}

function check(session: ClientHttp2Session, service: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': probeUserAgent,
    });
    let told: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    const note = (headers: IncomingHttpHeaders): void => {
      told = { ...told, ...headers };
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      const code = Number(told['grpc-status']);
      if (Number.isNaN(code)) reject(new Error('the server closed the stream without a status'));
      const message = decoded(String(told['grpc-message'] ?? ''));
      resolve({ code, message, body: Buffer.concat(chunks) });
    });
    stream.end(encodeCheck(service));
  });
}

/** A gRPC message with its escapes resolved; one that is broken stays as it came. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
