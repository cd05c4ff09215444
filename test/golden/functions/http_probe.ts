import type { Container, Probe } from '../../../src/kube/types.ts';
import { judgeResponse, maxBodyBytes } from '../../../src/prober/http-probe.ts';
import { httpGetRequest } from '../../../src/kube/http-get-action.ts';
import { textOf } from '../../../src/go/url.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly op: 'request' | 'response';
  readonly httpGet: NonNullable<Probe['httpGet']>;
  readonly podIP: string;
  readonly ports: Container['ports'];
  readonly code: number;
  readonly bodyLength: number;
  readonly clientError?: string;
}

function request({ httpGet, podIP, ports }: Input): unknown {
  try {
    const { url, headers, hostHeader } = httpGetRequest({ httpGet, podIp: podIP, ports });
    const shown = Object.fromEntries(
      Object.entries(headers).map(([name, values]) => [
        name,
        values.map((value) => value.replace(/^kube-probe\/\d+\.\d+$/, 'kube-probe/X.Y')),
      ]),
    );
    return { error: null, headers: shown, host: hostHeader, method: 'GET', url: textOf(String(url)) };
  } catch (reason) {
    return { error: messageOf(reason) };
  }
}

/** The recorded bodies are `ok`, nothing, or a run of one letter, of which only the length is told. */
function response({ code, bodyLength, clientError }: Input, recorded: { output?: string }): unknown {
  if (clientError !== undefined) return { result: 'failure', output: clientError };
  const body = bodyLength === 2 ? 'ok' : 'x'.repeat(Math.min(bodyLength, maxBodyBytes));
  const { outcome, output } = judgeResponse(code, body);
  return {
    result: outcome,
    outputLength: output.length,
    ...(recorded.output !== undefined && { output }),
  };
}

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  const out = line['out'] as { output?: string };
  return check(out, input.op === 'request' ? request(input) : response(input, out), { operation: input });
};
