import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { type Clock, steadyNow } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { goDuration } from '../kube/duration.ts';
import { TimeoutReached } from '../go/http/client.ts';
import { userAgentOf } from '../kube/http-get-action.ts';
import { dial } from './tcp-probe.ts';
import { joinHostPort } from '../base/host-port.ts';
import { bytesField } from '../base/protobuf-wire.ts';
import { goQuote } from '../go/go-quote.ts';
import { type ProbeAnswer, type ProbeHandler, deadline } from './prober.ts';

/** The delay between two attempts to connect, ms. */
const reconnectMs = 1000;
const unimplemented = 12;

/** Makes the gRPC probe handler, which calls the pod's `grpc.health.v1.Health` service. Follows kubelet `probe/grpc`. */
export const grpcProbe =
  (clock: Clock): ProbeHandler =>
  async ({ target, podIp, timeoutMs }) => {
    const { port = 0, service = '' } = target.probe.grpc ?? {};
    const endsAt = steadyNow(clock) + timeoutMs;
    const session = await sessionUntil(clock, endsAt, { host: podIp, port });
    if (!session)
      return failure(
        `timeout: failed to connect service ${goQuote(joinHostPort(podIp, port))} within ${goDuration(timeoutMs)}: context deadline exceeded`,
      );
    const { promise: expired, reject: expire } = Promise.withResolvers<never>();
    const stop = deadline(clock, Math.max(0, endsAt - steadyNow(clock)), () => {
      expire(new TimeoutReached());
      session.destroy();
    });
    try {
      return judge(await Promise.race([check(session, service), expired]));
    } catch (reason) {
      if (reason instanceof TimeoutReached)
        return failure(`timeout: health rpc did not complete within ${goDuration(timeoutMs)}`);
      const why = `rpc error: code = Unavailable desc = ${messageOf(reason)}`;
      return failure(`error: health rpc probe failed: ${why}`);
    } finally {
      stop();
      session.destroy();
    }
  };

const failure = (output: string): ProbeAnswer => ({ outcome: 'failure', output });

interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Connects to the server, and retries until `endsAt` when it does not listen yet or does not speak HTTP/2, as a gRPC client does. */
async function sessionUntil(
  clock: Clock,
  endsAt: number,
  at: HostPort,
): Promise<ClientHttp2Session | undefined> {
  for (let left = endsAt - steadyNow(clock); left > 0; left = endsAt - steadyNow(clock))
    try {
      return await openSession(clock, at, endsAt);
    } catch {
      await clock.sleep(Math.min(reconnectMs, Math.max(0, endsAt - steadyNow(clock))));
    }
  return undefined;
}

/** Opens an HTTP/2 session; resolves when the server has sent its settings. */
async function openSession(
  clock: Clock,
  { host, port }: HostPort,
  endsAt: number,
): Promise<ClientHttp2Session> {
  // loaded by the first probe only: it takes 3 MiB
  const { connect } = await import('node:http2');
  const socket = await dial(clock, { host, port, timeoutMs: endsAt - steadyNow(clock) });
  const session = connect(`http://${joinHostPort(host, port)}`, { createConnection: () => socket });
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      stop();
      session.destroy();
      reject(new Error('the server does not speak HTTP/2'));
    };
    const stop = deadline(clock, Math.max(0, endsAt - steadyNow(clock)), giveUp);
    session.once('error', giveUp).once('close', giveUp);
    session.once('remoteSettings', () => {
      stop();
      session.off('error', giveUp).off('close', giveUp);
      resolve(session);
    });
  });
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
    : failure(`service unhealthy (responded with ${goQuote(status)})`);
}

function check(session: ClientHttp2Session, service: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': userAgentOf('probe'),
    });
    let received: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    const note = (headers: IncomingHttpHeaders): void => {
      received = { ...received, ...headers };
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      const code = Number(received['grpc-status']);
      if (Number.isNaN(code)) reject(new Error('the server closed the stream without a status'));
      const message = decoded(String(received['grpc-message'] ?? ''));
      resolve({ code, message, body: Buffer.concat(chunks) });
    });
    stream.end(encodeCheck(service));
  });
}

/** Decodes the percent-encoding of a gRPC message; malformed text is returned unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The names of `HealthCheckResponse.ServingStatus`, by number. */
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/** The size of the prefix (flag and length) of a gRPC message, bytes. */
const prefixBytes = 5;

/** Encodes a `HealthCheckRequest`: the prefix, then field 1 with the service's name. */
export function encodeCheck(service: string): Buffer {
  const message = service === '' ? Buffer.alloc(0) : bytesField(1, service);
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Decodes the status in a `HealthCheckResponse`; `UNKNOWN` when it has none. */
export function decodeServingStatus(body: Buffer): string {
  const message = body.subarray(prefixBytes);
  const at = message.indexOf(0x08);
  if (at !== 0 || message.length < 2) return 'UNKNOWN';
  const value = message[1] ?? 0;
  return servingStatuses[value] ?? String(value);
}
