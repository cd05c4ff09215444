import type { ServerResponse } from 'node:http';

/** Bytes of the body of a response. */
export interface SentBytes {
  bytes: number;
}

const all = new WeakMap<ServerResponse, SentBytes>();

/** Returns the count of the bytes of a response's body, for those who write it and those who measure it. */
export function sentBytesOf(response: ServerResponse): SentBytes {
  let sent = all.get(response);
  if (!sent) {
    sent = { bytes: 0 };
    all.set(response, sent);
  }
  return sent;
}

/** Returns a step of a pipeline that counts the bytes of a response's body. */
export function countingBytes(
  response: ServerResponse,
): (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer> {
  const sent = sentBytesOf(response);
  return async function* (chunks) {
    for await (const chunk of chunks) {
      sent.bytes += chunk.length;
      yield chunk;
    }
  };
}
