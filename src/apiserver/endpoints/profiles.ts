import type { ServerResponse } from 'node:http';
import { noSniff } from '../request/headers.ts';
import type { ApiRequest } from '../request/request.ts';
import { sendText } from './respond.ts';

const root = '/debug/pprof/';

/** Answers `/debug/pprof` by a redirect, and the paths below it by 404: there are no profiles of Go's runtime. */
export async function answerProfiles(
  { path, method, raw }: ApiRequest,
  response: ServerResponse,
): Promise<void> {
  if (path.startsWith(root))
    return sendText(raw, response, {
      status: 404,
      type: 'text/plain; charset=utf-8',
      text: 'Unknown profile\n',
      extras: { headers: { ...noSniff, 'X-Go-Pprof': '1' } },
    });
  const headers = { Location: root, 'Cache-Control': 'no-cache, private' };
  if (method === 'GET' || method === 'HEAD')
    return sendText(raw, response, {
      status: 302,
      type: 'text/html; charset=utf-8',
      text: `<a href="${root}">Found</a>.\n\n`,
      extras: { headers },
    });
  response.writeHead(302, headers);
  response.end();
}
