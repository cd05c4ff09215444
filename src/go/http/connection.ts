import { connect, isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { type HostPort, joinHostPort } from '../../base/host-port.ts';
import { dialError } from '../dial-error.ts';
import { eof, unexpectedEof } from './buffered-reader.ts';
import { tlsFault } from './tls-fault.ts';

/** How a connection is made. */
export interface Dialing {
  readonly clock: Clock;
  /** How long one may take; absent: as long as the whole request. */
  readonly dialTimeoutMs?: number;
  /** Offered by ALPN; the first is what is wanted most. */
  readonly protocols: readonly string[];
  /** Gives the request up. */
  readonly signal: AbortSignal;
}

/** A connection that is ready for a request. */
export interface Connection {
  readonly stream: Duplex;
  /** What ALPN chose; empty without. */
  readonly protocol: string;
  /** In Go's words, why the stream ended; an error of the stream, or absent: it came to its end. */
  faultOf(reason?: Error): Error;
  /** Whether a fault stays, so that who reads on meets it again. */
  readonly faultStays: boolean;
  close(): void;
}

/** How long a TLS handshake may take, ms: Go's own limit. */
const handshakeTimeoutMs = 10_000;
/** After which silence the system asks whether the peer is still there, ms: Go's own span. */
const keepAliveMs = 15_000;

/** @throws {Error} in Go's words, or the signal's reason */
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
 * A promise that the signal ends whatever else happens.
 *
 * @param start begins, and returns what is called once at the end, with whether it came to a good one
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

/** What Go says of a connection that broke. */
function socketFault(reason: Error | undefined, ends: string): Error {
  const { code, syscall } = (reason ?? {}) as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' && syscall === 'read')
    return new Error(`read tcp ${ends}: read: connection reset by peer`, { cause: reason });
  if (code === 'ETIMEDOUT')
    return new Error(`read tcp ${ends}: read: connection timed out`, { cause: reason });
  // what could not be written any more does not count: what the server said before does
  return eof;
}

interface Securing extends Dialing {
  readonly wordsOf: (reason: Error | undefined) => Error;
}

/** What Go offers, in its order: an old server must not be accepted here that the kubelet refuses. */
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
  '@SECLEVEL=0', // short keys are the business of who checks certificates
].join(':');

let context: SecureContext | undefined;

/** One for all requests: to make one takes longer than a handshake. */
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
      // an address is no server name
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
/** As much of what came first as is looked at when TLS fails. */
const keptBytes = 16;

/**
 * What lies between TLS and its socket: it remembers how the server began, and whether it stopped within a record, which OpenSSL does not
 * tell.
 */
class Tap extends Duplex {
  readonly #socket: Socket;
  #first: Buffer = Buffer.alloc(0);
  #header: number[] = [];
  /** Of the record that comes in, bytes. */
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

  /** In Go's words, why the connection failed. */
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
