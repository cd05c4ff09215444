import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A client's connection that asks for an upgrade. As long as nobody takes it over, `response` is its answer. */
export interface Upgrading {
  readonly incoming: IncomingMessage;
  readonly socket: Socket;
  /** What came behind the request. */
  readonly head: Buffer;
  readonly response: ServerResponse;
}
