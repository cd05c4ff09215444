import type { ServerResponse } from 'node:http';
import { goQuote } from '../../go/go-quote.ts';
import type { ApiRequest } from '../request/request.ts';
import { noSniff } from '../request/headers.ts';

/** Answers a request that a filter could not pass on with 500, as text. */
export function answerInternalError({ raw }: ApiRequest, response: ServerResponse, why: string): void {
  response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8', ...noSniff });
  response.end(`Internal Server Error: ${goQuote(raw.url ?? '')}: ${why}\n`);
}
