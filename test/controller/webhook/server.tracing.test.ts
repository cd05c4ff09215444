import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { kinds, newClient } from '../../../src/controller/index.ts';
import { allowed, validating } from '../../../src/controller/webhook/index.ts';
import { outline, Spans } from '../../support/spans.ts';
import { connectionTo, startServer } from '../support.ts';
import { endServers, listening, reviewOf } from './support.ts';

let spans: Spans;
beforeEach(async () => {
  spans = await Spans.record();
});
afterEach(async () => {
  spans.stop();
  await endServers();
});

test('a webhook is a span of the trace of its caller, and its calls are in it', async () => {
  const api = await startServer();
  const calls = createApiClient(connectionTo(api), { clock: systemClock, tracer: spans.tracer });
  const client = newClient(calls);
  const { send } = await listening(
    (server) => {
      server.register(
        '/validate',
        validating(async () => {
          await client.list(kinds.Namespace);
          return allowed();
        }),
      );
      server.register('/broken', () => {
        throw new Error('no');
      });
    },
    {},
    { tracer: spans.tracer },
  );
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await send('/validate', reviewOf(), { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } });
  await send('/broken', '');
  const [webhook, broken] = spans.roots();
  expect(webhook && outline(webhook)).toBe('POST /validate\n  HTTP GET');
  expect(webhook).toMatchObject({
    traceId,
    parentSpanId: 'b7ad6b7169203331',
    attributes: { 'http.route': '/validate', 'http.response.status_code': 200 },
  });
  expect(broken && outline(broken)).toBe('POST /broken failed: no');
  await calls.close();
  await api.stop();
});
