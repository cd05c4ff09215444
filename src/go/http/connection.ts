import { connect, isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { type HostPort, joinHostPort } from '../../base/host-port.ts';
import { dialError } from '../dial-error.ts';
import { eof, unexpectedEof } from './buffered-reader.ts';
import { tlsFault } from './tls-fault.ts';

/** Settings of a connection. */
export interface Dialing {
  readonly clock: Clock;
  /** Time limit of the connection attempt, ms; absent: that of the request. */
  readonly dialTimeoutMs?: number;
  /** Protocols to offer by ALPN, preferred first. */
  readonly protocols: readonly string[];
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
}

/** An established connection. */
export interface Connection {
  readonly stream: Duplex;
  /** Protocol chosen by ALPN; empty without. */
  readonly protocol: string;
  /** Returns why the stream ended, in Go's words. @param reason the stream's error; absent: it ended regularly */
  faultOf(reason?: Error): Error;
  /** True when every further read reports the fault. */
  readonly faultStays: boolean;
  close(): void;
}

/** Time limit of a TLS handshake, ms, as in Go. */
const handshakeTimeoutMs = 10_000;
/** Idle time before TCP keep-alive probes, ms, as in Go. */
const keepAliveMs = 15_000;

/** Connects to a host. @throws {Error} in Go's words, or the signal's reason */
export async function dialFor(scheme: string, at: HostPort, dialing: Dialing): Promise<Connection> {
  const socket = await dialTcp(at, dialing);
  const own = joinHostPort(socket.localAddress ?? '', socket.localPort ?? 0);
  const peer = joinHostPort(socket.remoteAddress ?? at.host, socket.remotePort ?? at.port);
  const wordsOf = (reason: Error | undefined): Error => socketFault(reason, `${own}->${peer}`);
  if (scheme === 'https') return secured(socket, at.host, { ...dialing, wordsOf });
  return {
    stream: socket,
    protocol: '',
    faultOf: wordsOf,
    faultStays: false,
    close: () => socket.destroy(),
  };
}

function dialTcp(at: HostPort, { clock, dialTimeoutMs, signal }: Dialing): Promise<Socket> {
  return settled<Socket>(signal, (resolve, reject) => {
    const socket = connect({ host: at.host, port: at.port, noDelay: true });
    socket.setKeepAlive(true, keepAliveMs);
    const stop =
      dialTimeoutMs === undefined
        ? undefined
        : clock.timer(dialTimeoutMs, () => {
            reject(new Error(`dial tcp ${joinHostPort(at.host, at.port)}: i/o timeout`));
          });
    socket.once('connect', () => {
      resolve(socket);
    });
    socket.on('error', (reason) => {
      reject(new Error(dialError(reason, at), { cause: reason }));
    });
    return (isDone) => {
      stop?.();
      if (!isDone) socket.destroy();
    };
  });
}

/**
 * Creates a promise that rejects when the signal aborts.
 *
 * @param start begins the operation and returns a clean-up function, which is called once with true after success
 */
export function settled<T>(
  signal: AbortSignal,
  start: (resolve: (value: T) => void, reject: (reason: Error) => void) => (isDone: boolean) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const course: { outcome?: boolean; finish?: (isDone: boolean) => void } = {};
    const end = (isDone: boolean, tell: () => void): void => {
      if (course.outcome !== undefined) return;
      course.outcome = isDone;
      signal.removeEventListener('abort', abort);
      course.finish?.(isDone);
      tell();
    };
    const fail = (reason: Error): void => {
      end(false, () => {
        reject(reason);
      });
    };
    const abort = (): void => {
      fail(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    const finish = start((value) => {
      end(true, () => {
        resolve(value);
      });
    }, fail);
    if (course.outcome === undefined) course.finish = finish;
    else finish(course.outcome);
  });
}

/** Returns Go's message for a broken connection. */
function socketFault(reason: Error | undefined, ends: string): Error {
  const { code, syscall } = (reason ?? {}) as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' && syscall === 'read')
    return new Error(`read tcp ${ends}: read: connection reset by peer`, { cause: reason });
  if (code === 'ETIMEDOUT')
    return new Error(`read tcp ${ends}: read: connection timed out`, { cause: reason });
  // A write error is ignored: data that the server sent before counts.
  return eof;
}

interface Securing extends Dialing {
  readonly wordsOf: (reason: Error | undefined) => Error;
}

/** Go's cipher suites in its order; servers that the kubelet rejects must be rejected here too. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
  '@SECLEVEL=0', // accepts short keys, as certificates are not verified
].join(':');

let context: SecureContext | undefined;

/** Returns the context shared by all requests; creating one takes longer than a handshake. */
const secureContext = (): SecureContext =>
  (context ??= createSecureContext({ ciphers, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' }));

function secured(socket: Socket, host: string, securing: Securing): Promise<Connection> {
  const tap = new Tap(socket);
  const { clock, signal, protocols, wordsOf } = securing;
  return settled<Connection>(signal, (resolve, reject) => {
    const stream = connectTls({
      socket: tap,
      secureContext: secureContext(),
      rejectUnauthorized: false,
      ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
      // IP addresses are not allowed as server name.
      ...(isIP(host) === 0 && { servername: host.replace(/\.+$/, '') }),
    });
    const stop = clock.timer(handshakeTimeoutMs, () => {
      reject(new Error('net/http: TLS handshake timeout'));
    });
    const faultOf = (reason?: Error): Error => tap.faultOf(reason, wordsOf);
    const fail = (reason?: Error): void => {
      reject(faultOf(reason));
    };
    stream.on('error', fail).once('end', fail).once('close', fail);
    stream.once('secureConnect', () => {
      stream.off('end', fail).off('close', fail);
      resolve({
        stream,
        protocol: protocolOf(stream),
        faultOf,
        faultStays: true,
        close: () => tap.destroy(),
      });
    });
    return (isDone) => {
      stop();
      if (!isDone) tap.destroy();
    };
  });
}

const protocolOf = ({ alpnProtocol }: TLSSocket): string =>
  typeof alpnProtocol === 'string' ? alpnProtocol : '';

const isOfTls = ({ code = '', message }: NodeJS.ErrnoException): boolean =>
  code.startsWith('ERR_SSL_') && !/unexpected eof/i.test(message);

const headerBytes = 5;
/** Number of first bytes that are inspected when TLS fails. */
const keptBytes = 16;

/**
 * Tap sits between TLS and its socket: it records the server's first bytes, and whether the server stopped within a record, which OpenSSL
 * does not report.
 */
class Tap extends Duplex {
  readonly #socket: Socket;
  #first: Buffer = Buffer.alloc(0);
  #header: number[] = [];
  /** Remaining bytes of the current record. */
  #left = 0;
  #fault: Error | undefined;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#note(bytes);
      if (!this.push(bytes)) socket.pause();
    });
    socket.once('end', () => this.push(null));
    socket.on('error', (reason) => {
      this.#fault ??= reason;
      this.destroy(reason);
    });
    socket.once('close', () => this.destroy());
  }

  /** Returns why the connection failed, in Go's words. */
  faultOf(reason: Error | undefined, wordsOf: (reason: Error | undefined) => Error): Error {
    if (reason && !this.#fault && isOfTls(reason))
      return new Error(tlsFault(reason, this.#first), { cause: reason });
    const fault = wordsOf(this.#fault);
    const isWithin = this.#left > 0 || this.#header.length > 0;
    return fault === eof && isWithin ? unexpectedEof : fault;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: (reason?: Error | null) => void): void {
    this.#socket.write(bytes, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(reason: Error | null, done: (reason?: Error | null) => void): void {
    this.#socket.destroy();
    done(reason);
  }

  #note(bytes: Buffer): void {
    if (this.#first.length < keptBytes)
      this.#first = Buffer.concat([this.#first, bytes]).subarray(0, keptBytes);
    for (let at = 0; at < bytes.length;) {
      if (this.#left > 0) {
        const count = Math.min(this.#left, bytes.length - at);
        this.#left -= count;
        at += count;
        continue;
      }
      this.#header.push(bytes[at++] ?? 0);
      if (this.#header.length < headerBytes) continue;
      this.#left = ((this.#header[3] ?? 0) << 8) | (this.#header[4] ?? 0);
      this.#header = [];
    }
  }
}
