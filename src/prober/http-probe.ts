import type { IncomingMessage } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { httpGet, type HttpGetRequest } from '../go/http-get.ts';
import { httpGetRequest } from '../kube/http-get-action.ts';
import { type ProbeAnswer, type ProbeHandler, deadline } from './prober.ts';

/** Of an answer's body no more is read, bytes. */
export const maxBodyBytes: number = 10 * 1024;

/**
 * What the answer of an HTTP probe means.
 *
 * Follows kubelet `probe/http.DoHTTPProbe`.
 *
 * @param body as read, at most {@link maxBodyBytes}
 */
export function judgeResponse(statusCode: number, body: string): ProbeAnswer {
  if (statusCode >= 200 && statusCode < 300) return { outcome: 'success', output: body };
  if (statusCode >= 300 && statusCode < 400)
    return { outcome: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  return { outcome: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
}

/** Gets a page of the pod. Redirects are followed as long as they stay on the host; certificates are not checked. */
export const httpProbe =
  (clock: Clock): ProbeHandler =>
  async ({ target, podIp, timeoutMs }) => {
    const action = target.probe.httpGet;
    if (!action) throw new Error('the probe has no httpGet action');
    const request = httpGetRequest({ httpGet: action, podIp, ports: target.container.ports });
    const abort = new AbortController();
    const stop = deadline(clock, timeoutMs, () => {
      abort.abort();
    });
    try {
      return await answerTo(request, abort.signal);
    } finally {
      stop();
    }
  };

/** No answer is what the probe finds, not a fault of the probe. */
async function answerTo(request: HttpGetRequest, signal: AbortSignal): Promise<ProbeAnswer> {
  let response: IncomingMessage;
  try {
    response = await httpGet(request, signal);
  } catch (reason) {
    return { outcome: 'failure', output: messageOf(reason) };
  }
  return judgeResponse(response.statusCode ?? 0, await readBody(response, signal));
}

/** @throws {Error} when the body does not come whole in time */
async function readBody(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBodyBytes) break;
    }
  } catch (reason) {
    if (!signal.aborted) throw new Error('unexpected EOF', { cause: reason });
    throw new Error('context deadline exceeded (Client.Timeout or context cancellation while reading body)', {
      cause: reason,
    });
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBodyBytes);
}
