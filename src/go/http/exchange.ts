import { type Body, readAtMost } from './body.ts';
import { BufferedReader, type Reading } from './buffered-reader.ts';
import { type Connection, settled } from './connection.ts';
import { readAnswer } from './response.ts';

/** An answer whose body is still to be read, on a connection that is its own. */
export interface HttpAnswer {
  readonly statusCode: number;
  /** Bytes, one a character; empty: there is none. */
  readonly location: string;
  /** Bytes; -1 when the answer does not say. */
  readonly contentLength: number;
  /** The body, or as much of it as was asked for. @throws {Error} in Go's words, or the signal's reason */
  read(most: number): Promise<Buffer>;
  /** Ends the connection. */
  close(): void;
}

/** A request that the server did not look at: it may be sent again over a new connection. */
export class RetryableError extends Error {}

/** Sends a request of HTTP/1.1 and waits for the head of its answer. @throws {Error} in Go's words, or the signal's reason */
export async function exchange(
  connection: Connection,
  request: Buffer,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const incoming = new Incoming(connection, signal);
  connection.stream.write(request);
  const { statusCode, header, contentLength, body } = await incoming.run(readAnswer);
  return {
    statusCode,
    contentLength,
    location: header.get('Location')?.[0] ?? '',
    read: (most) => incoming.run(() => readAtMost(body satisfies Body, most)),
    close: () => {
      connection.close();
    },
  };
}

/** Feeds a parser with what comes over a connection. */
class Incoming {
  readonly #reader = new BufferedReader();
  readonly #signal: AbortSignal;
  /** Goes on with the parser that waits for bytes. */
  #goOn: (() => void) | undefined;

  constructor(connection: Connection, signal: AbortSignal) {
    this.#signal = signal;
    const { stream, faultStays } = connection;
    const end = (reason?: Error): void => {
      this.#reader.end(connection.faultOf(reason), faultStays);
      this.#goOn?.();
    };
    stream.on('data', (bytes: Buffer) => {
      this.#reader.push(bytes);
      this.#goOn?.();
    });
    // whichever comes first: not each end of a connection is announced by each event
    stream.on('error', end);
    stream.once('end', end);
    stream.once('close', end);
  }

  run<T>(parse: (reader: BufferedReader) => Reading<T>): Promise<T> {
    return settled<T>(this.#signal, (resolve, reject) => {
      const reading = parse(this.#reader);
      const goOn = (): void => {
        try {
          const { done, value } = reading.next();
          if (done) resolve(value);
        } catch (reason) {
          reject(reason as Error);
        }
      };
      this.#goOn = goOn;
      goOn();
      return () => {
        this.#goOn = undefined;
      };
    });
  }
}
