import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A client's connection that requests an upgrade. Until it is taken over, `response` answers it. */
export interface Upgrading {
  readonly incoming: IncomingMessage;
  readonly socket: Socket;
  /** Bytes received after the request. */
  readonly head: Buffer;
  readonly response: ServerResponse;
}
