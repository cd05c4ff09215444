import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { goText } from '../go/go-quote.ts';
import { type HttpClient, httpGet, TimeoutReached } from '../go/http/client.ts';
import type { HttpAnswer } from '../go/http/exchange.ts';
import type { HttpGetRequest } from '../go/http/request.ts';
import { httpGetRequest } from '../kube/http-get-action.ts';
import { type ProbeAnswer, type ProbeHandler, deadline } from './prober.ts';

/** The limit for the response body, bytes; no more is read. */
export const maxBodyBytes: number = 10 * 1024;

/**
 * Converts the response to an HTTP probe into the outcome of the probe.
 *
 * Follows kubelet `probe/http.DoHTTPProbe`.
 *
 * @param body the body as far as it was read, at most {@link maxBodyBytes}
 */
export function judgeResponse(statusCode: number, body: string): ProbeAnswer {
  if (statusCode >= 200 && statusCode < 300) return { outcome: 'success', output: body };
  if (statusCode >= 300 && statusCode < 400)
    return { outcome: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
  return { outcome: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
}

/**
 * Makes the HTTP probe handler, which sends a GET to the pod. It follows redirects on the same host, does not verify certificates, and uses
 * HTTP/2 with TLS servers that support it.
 */
export const httpProbe = (clock: Clock): ProbeHandler => {
  const client: HttpClient = { clock, http2: true, extra: [['Connection', 'close']] };
  return async ({ target, podIp, timeoutMs }) => {
    const action = target.probe.httpGet;
    if (!action) throw new Error('the probe has no httpGet action');
    const request = httpGetRequest({ httpGet: action, podIp, ports: target.container.ports });
    const abort = new AbortController();
    const stop = deadline(clock, timeoutMs, () => {
      abort.abort(new TimeoutReached());
    });
    try {
      return await answerTo(request, client, abort.signal);
    } finally {
      stop();
    }
  };
};

/** Returns the response. A missing response fails the probe; a body that breaks off is an error of the probe. */
async function answerTo(
  request: HttpGetRequest,
  client: HttpClient,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  let answer: HttpAnswer;
  try {
    answer = await httpGet(request, client, signal);
  } catch (reason) {
    return { outcome: 'failure', output: messageOf(reason) };
  }
  try {
    return judgeResponse(answer.statusCode, goText(await answer.read(maxBodyBytes)));
  } finally {
    answer.close();
  }
}
