import { type Body, readAtMost } from './body.ts';
import { BufferedReader, type Reading } from './buffered-reader.ts';
import { type Connection, settled } from './connection.ts';
import { readAnswer } from './response.ts';

/** A response with an unread body on its own connection. */
export interface HttpAnswer {
  readonly statusCode: number;
  /** Location header as bytes, one per character; empty: none. */
  readonly location: string;
  /** Content length in bytes; -1 when unknown. */
  readonly contentLength: number;
  /** Reads the body, at most `most` bytes. @throws {Error} in Go's words, or the signal's reason */
  read(most: number): Promise<Buffer>;
  /** Closes the connection. */
  close(): void;
}

/** Error of a request that the server did not process; it may be retried on a new connection. */
export class RetryableError extends Error {}

/** Sends an HTTP/1.1 request and waits for the response header. @throws {Error} in Go's words, or the signal's reason */
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

/** Feeds a parser with data from a connection. */
class Incoming {
  readonly #reader = new BufferedReader();
  readonly #signal: AbortSignal;
  /** Resumes the parser that waits for bytes. */
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
    // The end of a connection is not announced by every event, so the first one counts.
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
