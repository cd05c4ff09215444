import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { constants, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, steadyNow, type StopTimer, systemClock } from '../base/clock.ts';
import { mostAtOnce } from './turns.ts';

/** Limits on the connections of one listener; times in ms. */
export interface ConnectionLimits {
  /** Connections in total. */
  readonly connections: number;
  /** Connections from one address; for IPv6, from one /64. */
  readonly perAddress: number;
  /** Connections without a request in progress, in total; default: `connections`. */
  readonly waiting?: number;
  /**
   * From the start of a connection to the end of its first request's headers, including the TLS handshake; for a later request, from its
   * first byte to the end of its headers.
   */
  readonly headersMs: number;
  /** From the end of a request's headers to the end of its body. */
  readonly requestMs: number;
  /** Between two requests. */
  readonly keepAliveMs: number;
  /** While a client does not read from a response that is waiting to be sent. */
  readonly stalledMs: number;
  /** The same for a stream that may legitimately pause for long, such as a followed log or an exec. */
  readonly streamMs: number;
}

/** Requests of one connection that may be queued; one packet holds about 2,600 of the shortest. */
const mostQueued = 4096;
/** Listeners of one response: filters for its end, and the streams of its body; Node warns from 11 on. */
const mostListeners = 24;

/** The state of one connection. */
interface Connection {
  /** The accepted socket; TLS may be layered on it. */
  readonly socket: Socket;
  readonly peer: Peer;
  /** When it was accepted, or when its last response ended. */
  since: number;
  /** Unanswered requests; an upgrade counts as one for ever. */
  open: number;
  /** Whether it has ever sent a complete request head. */
  proven: boolean;
  /** The request whose body may not have been received completely. */
  receiving?: { readonly message: IncomingMessage; readonly since: number };
  /** The session of a connection that speaks HTTP/2, and its requests whose bodies may not have been received completely. */
  session?: ServerHttp2Session;
  readonly bodies: Map<ServerHttp2Stream, number>;
  /** Bytes received when it became idle. */
  readAtRest: number;
  /** When the next request's first byte was seen. */
  headSince?: number;
  paused: boolean;
}

/** Idle connections, the longest idle first. */
class Waiting {
  readonly #fresh = new Set<Connection>();
  readonly #proven = new Set<Connection>();

  get size(): number {
    return this.#fresh.size + this.#proven.size;
  }

  add(connection: Connection): void {
    (connection.proven ? this.#proven : this.#fresh).add(connection);
  }

  delete(connection: Connection): void {
    this.#fresh.delete(connection);
    this.#proven.delete(connection);
  }

  /** Returns the connection to close first: one that has never sent a request, if there is any. */
  oldest(): Connection | undefined {
    for (const connection of this.#fresh) return connection;
    for (const connection of this.#proven) return connection;
    return undefined;
  }

  *all(): Iterable<Connection> {
    yield* this.#fresh;
    yield* this.#proven;
  }
}

/** An address and its connections. */
interface Peer {
  readonly address: string;
  connections: number;
  readonly waiting: Waiting;
}

/** Returns the group an address is counted under: the IPv4 address itself, or the /64 of an IPv6 address. */
export function addressGroup(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '');
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  return [...first, ...Array.from({ length: zeros }, () => '0'), ...last].slice(0, 4).join(':');
}

const placeOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress ?? ''} ${remotePort ?? ''} ${localPort ?? ''}`;

/**
 * BoundedConnections limits the connections of one listener in number and in time. Node's own deadlines do not apply to connections that
 * reach a server by `emit('connection')`; these do, from the moment a connection is accepted. When a limit on numbers is reached, the
 * connection that has been idle longest is closed in favour of the new one, so that slow clients never lock others out; a connection with
 * a request in progress is never closed.
 */
export class BoundedConnections {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #all = new Set<Connection>();
  readonly #waiting = new Waiting();
  readonly #peers = new Map<string, Peer>();
  readonly #bySocket = new WeakMap<Duplex, Connection>();
  readonly #byPlace = new Map<string, Connection>();
  #stopSweep: StopTimer | undefined;

  constructor(limits: ConnectionLimits, clock: Clock = systemClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** The number of connections. */
  get size(): number {
    return this.#all.size;
  }

  /**
   * Applies the limits to the requests of a server, and to its connections unless something in front accepts them and calls {@link
   * admit}.
   */
  watch(server: HttpServer | HttpsServer, accepts = true): void {
    const { headersMs, requestMs, keepAliveMs, stalledMs, streamMs } = this.#limits;
    server.headersTimeout = headersMs;
    server.requestTimeout = requestMs + headersMs;
    server.keepAliveTimeout = keepAliveMs;
    server.timeout = stalledMs;
    if (accepts)
      server.prependListener('connection', (socket: Socket) => {
        this.admit(socket);
      });
    server.prependListener('request', (message: IncomingMessage, response: ServerResponse) => {
      this.#begin(message, response);
    });
    server.prependListener('upgrade', (_message: IncomingMessage, socket: Duplex) => {
      this.#take(socket as Socket);
      (socket as Socket).setTimeout(streamMs, () => {
        this.#quiet(socket as Socket);
      });
    });
    server.on('timeout', (socket: Socket) => {
      this.#quiet(socket);
    });
  }

  /** Applies the limits to the streams of an HTTP/2 server, whose connections something in front accepts and {@link admit}s. */
  watchHttp2(server: Http2Server): void {
    const connections = new WeakMap<object, Connection>();
    server.prependListener('session', (session) => {
      const connection = this.#of(session.socket);
      if (!connection) return;
      connection.session = session;
      connections.set(session, connection);
    });
    server.prependListener('stream', (stream) => {
      const connection = stream.session && connections.get(stream.session);
      if (connection) this.#beginStream(connection, stream);
    });
  }

  /** Counts an accepted connection. @returns false when there is no room for it; it is then closed */
  admit(socket: Socket): boolean {
    const peer = this.#peerOf(socket);
    const { connections, perAddress, waiting = connections } = this.#limits;
    const room =
      (peer.connections < perAddress || this.#evict(peer.waiting)) &&
      (this.#all.size < connections || this.#evict(this.#waiting)) &&
      (this.#waiting.size < waiting || this.#evict(this.#waiting));
    if (!room) {
      this.#forgetPeer(peer);
      socket.destroy();
      return false;
    }
    const since = steadyNow(this.#clock);
    const fresh = { open: 0, proven: false, readAtRest: 0, paused: false };
    const connection = { socket, peer, since, ...fresh, bodies: new Map<ServerHttp2Stream, number>() };
    this.#enter(connection);
    return true;
  }

  /** Returns the peer of a connection. Evicting another connection does not remove it, since it has none yet. */
  #peerOf(socket: Socket): Peer {
    const address = addressGroup(socket.remoteAddress);
    const found = this.#peers.get(address);
    if (found) return found;
    const peer: Peer = { address, connections: 0, waiting: new Waiting() };
    this.#peers.set(address, peer);
    return peer;
  }

  #forgetPeer(peer: Peer): void {
    if (peer.connections === 0) this.#peers.delete(peer.address);
  }

  #enter(connection: Connection): void {
    const { socket, peer } = connection;
    const place = placeOf(socket);
    peer.connections++;
    // An eviction may have removed the last connection of this same peer.
    this.#peers.set(peer.address, peer);
    this.#all.add(connection);
    this.#bySocket.set(socket, connection);
    this.#byPlace.set(place, connection);
    this.#rest(connection);
    socket.once('close', () => {
      if (this.#byPlace.get(place) === connection) this.#byPlace.delete(place);
      this.#leave(connection);
    });
    this.#sweepLater();
  }

  #leave(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    const { peer } = connection;
    peer.connections--;
    this.#unrest(connection);
    this.#forgetPeer(peer);
    if (this.#all.size > 0) return;
    this.#stopSweep?.();
    this.#stopSweep = undefined;
  }

  #end(connection: Connection): void {
    this.#leave(connection);
    connection.socket.destroy();
  }

  #evict(waiting: Waiting): boolean {
    const oldest = waiting.oldest();
    if (oldest) this.#end(oldest);
    return oldest !== undefined;
  }

  #rest(connection: Connection): void {
    this.#waiting.add(connection);
    connection.peer.waiting.add(connection);
  }

  #unrest(connection: Connection): void {
    this.#waiting.delete(connection);
    connection.peer.waiting.delete(connection);
  }

  /** Returns the connection below a socket: a TLS socket has the addresses of the socket below it. */
  #of(socket: Socket): Connection | undefined {
    const found = this.#bySocket.get(socket) ?? this.#byPlace.get(placeOf(socket));
    if (found) this.#bySocket.set(socket, found);
    return found;
  }

  #take(socket: Socket): Connection | undefined {
    const connection = this.#of(socket);
    if (connection) this.#occupy(connection);
    return connection;
  }

  #occupy(connection: Connection): void {
    this.#unrest(connection);
    connection.open++;
    connection.proven = true;
    delete connection.headSince;
  }

  #beginStream(connection: Connection, stream: ServerHttp2Stream): void {
    this.#occupy(connection);
    if (!stream.endAfterHeaders) connection.bodies.set(stream, steadyNow(this.#clock));
    stream.once('close', () => {
      connection.open--;
      connection.bodies.delete(stream);
      if (this.#all.has(connection)) this.#settle(connection);
    });
    this.#expectReader(stream);
  }

  /** Closes a stream whose reader takes nothing of what waits for it. */
  #expectReader(stream: ServerHttp2Stream): void {
    const { stalledMs } = this.#limits;
    stream.setTimeout(stalledMs, () => {
      if (stream.writableLength > 0) stream.close(constants.NGHTTP2_CANCEL);
      else this.#expectReader(stream);
    });
  }

  /** Lets a connection without requests in progress wait for its next one. */
  #settle(connection: Connection): void {
    if (connection.open > 0) return;
    connection.since = steadyNow(this.#clock);
    connection.readAtRest = connection.socket.bytesRead;
    this.#rest(connection);
  }

  #begin(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    const connection = this.#take(socket);
    if (!connection) return;
    connection.receiving = { message, since: steadyNow(this.#clock) };
    if (connection.open > mostQueued) {
      this.#end(connection);
      return;
    }
    this.#pace(connection, socket);
    response.setMaxListeners(mostListeners);
    response.once('close', () => {
      connection.open--;
      if (!this.#all.has(connection)) return;
      this.#pace(connection, socket);
      this.#settle(connection);
    });
  }

  /**
   * Pauses reading while more requests wait for their response than are served at a time. Node resumes reading when a body is consumed,
   * hence the deferral.
   */
  #pace(connection: Connection, socket: Socket): void {
    if (connection.open <= mostAtOnce) {
      if (connection.paused) socket.resume();
      connection.paused = false;
      return;
    }
    connection.paused = true;
    setImmediate(() => {
      if (connection.paused && !socket.destroyed) socket.pause();
    });
  }

  /** Handles a connection on which nothing has moved for its timeout: either it is stalled or it has nothing to send. */
  #quiet(socket: Socket): void {
    const isAnswered = (this.#of(socket)?.open ?? 0) > 0;
    if (isAnswered && socket.writableLength === 0)
      socket.setTimeout(socket.timeout ?? this.#limits.stalledMs);
    else socket.destroy();
  }

  /** Allows a client to read slowly from a response that is being sent. */
  allowPauses(socket: Socket): void {
    socket.setTimeout(this.#limits.streamMs);
  }

  #sweepLater(): void {
    const tickMs = Math.max(50, Math.min(1000, this.#limits.headersMs / 4));
    this.#stopSweep ??= this.#clock.timer(tickMs, () => {
      this.#stopSweep = undefined;
      this.#sweep(steadyNow(this.#clock));
      if (this.#all.size > 0) this.#sweepLater();
    });
  }

  #sweep(now: number): void {
    for (const connection of [...this.#all])
      if (connection.session) this.#sweepSession(connection, connection.session, now);
      else if (this.#isLate(connection, now)) this.#end(connection);
  }

  /** Closes streams whose bodies are late, and a session that has none for too long. */
  #sweepSession(connection: Connection, session: ServerHttp2Session, now: number): void {
    const { headersMs, requestMs, keepAliveMs } = this.#limits;
    for (const [stream, since] of connection.bodies)
      if (stream.readableEnded) connection.bodies.delete(stream);
      else if (now - since >= requestMs) stream.close(constants.NGHTTP2_CANCEL);
    const idleMs = connection.proven ? keepAliveMs : headersMs;
    if (connection.open === 0 && now - connection.since >= idleMs) session.close();
  }

  #isLate(connection: Connection, now: number): boolean {
    const { receiving, socket } = connection;
    const { headersMs, requestMs } = this.#limits;
    if (receiving && !receiving.message.complete) {
      connection.readAtRest = socket.bytesRead;
      return now - receiving.since >= requestMs;
    }
    delete connection.receiving;
    if (connection.open > 0) return false;
    if (!connection.proven) return now - connection.since >= headersMs;
    if (socket.bytesRead === connection.readAtRest) return false;
    connection.headSince ??= now;
    return now - connection.headSince >= headersMs;
  }
}
