import type { IncomingMessage, ServerResponse } from 'node:http';
import { offeredProtocols } from '../../../streams/websocket.ts';
import { isBearer } from '../../authentication/authenticator.ts';
import { badRequest, StatusError } from '../../../apimachinery/status-error.ts';
import { sentBytesOf } from '../../request/sent-bytes.ts';
import { takeWebSocket } from '../../request/upgrade.ts';
import type { Upgrading } from '../../request/upgrading.ts';

/** Destination of a watch's events. */
export interface WatchOutlet {
  /** Bytes waiting for a slow reader. */
  readonly waiting: number;
  write(event: string | Buffer): void;
  /** Ends after everything written is sent. */
  end(): void;
  destroy(): void;
  onClose(listener: () => void): void;
}

/** Returns the body of a response that lasts as long as the watch. */
export function bodyOutlet(incoming: IncomingMessage, response: ServerResponse, type: string): WatchOutlet {
  response.writeHead(200, {
    'Cache-Control': 'no-cache, private',
    'Content-Type': type,
    'Transfer-Encoding': 'chunked',
  });
  response.flushHeaders();
  const sent = sentBytesOf(response);
  return {
    get waiting() {
      return response.writableLength;
    },
    write: (event) => {
      sent.bytes += Buffer.byteLength(event);
      response.write(event);
    },
    end: () => void response.end(),
    destroy: () => void response.destroy(),
    onClose: (listener) => {
      incoming.on('close', listener);
      response.on('close', listener);
    },
  };
}

/**
 * Returns a WebSocket with one message per event; messages from the client are ignored. The client must send an `Origin` and may offer at
 * most one protocol, which is accepted whatever it is.
 *
 * @param isText whether messages are text
 * @throws {StatusError} 403 for a client without `Origin`, 400 for one that offers several protocols
 */
export async function webSocketOutlet(upgrading: Upgrading, isText: boolean): Promise<WatchOutlet> {
  const { incoming } = upgrading;
  const [protocol, ...more] = offeredProtocols(incoming).filter((one) => !isBearer(one));
  if (incoming.headers.origin === undefined)
    throw new StatusError(403, 'Forbidden', 'a watch over a WebSocket must name its Origin');
  if (more.length > 0) throw badRequest('a watch over a WebSocket may offer one protocol only');
  const socket = await takeWebSocket(upgrading, protocol);
  return {
    get waiting() {
      return socket.bufferedAmount;
    },
    write: (event) => {
      // A message needs no length prefix, unlike a protobuf event in a stream.
      socket.send(isText ? event : event.slice(4), { binary: !isText });
    },
    end: () => {
      socket.close(1000);
    },
    destroy: () => {
      socket.terminate();
    },
    onClose: (listener) => socket.on('close', listener),
  };
}
