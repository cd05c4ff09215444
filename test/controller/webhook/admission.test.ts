import { request as httpsRequest } from 'node:https';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type AdmissionContext,
  allowed,
  denied,
  errored,
  multiMutating,
  multiValidating,
  mutating,
  patched,
  validating,
  withWarnings,
} from '../../../src/controller/webhook/index.ts';
import { eventually } from '../manager/bench-manager.ts';
import { type Answer, endServers, listening, patchOf, pod, requestOf, reviewOf } from './support.ts';

afterEach(endServers);

describe('admission webhook', () => {
  test.for(['v1', 'v1beta1'])(
    '1 a review of %s is answered in its version, with its uid',
    async (version) => {
      const { send } = await listening((server) => {
        server.register(
          '/v',
          validating(() => allowed('fine')),
        );
      });
      const { status, json } = await send('/v', reviewOf({ uid: 'abc' }, version));
      expect(status).toBe(200);
      expect(json).toEqual({
        apiVersion: `admission.k8s.io/${version}`,
        kind: 'AdmissionReview',
        response: { uid: 'abc', allowed: true, status: { metadata: {}, code: 200, message: 'fine' } },
      });
    },
  );

  test('2 denied answers 403 with the text, warnings and audit annotations', async () => {
    const { send } = await listening((server) => {
      server.register(
        '/v',
        validating(() => ({
          ...withWarnings(denied('too big'), 'old', 'slow'),
          auditAnnotations: { why: 'size' },
        })),
      );
    });
    expect((await send('/v', reviewOf())).json.response).toEqual({
      uid: 'u-1',
      allowed: false,
      status: { metadata: {}, code: 403, reason: 'Forbidden', message: 'too big' },
      warnings: ['old', 'slow'],
      auditAnnotations: { why: 'size' },
    });
  });

  test('3 patched answers the difference, also when the handler writes to the object of the request', async () => {
    const { send } = await listening((server) => {
      server.register(
        '/in-place',
        mutating((request) => {
          const object = request.object ?? {};
          object.metadata = { ...object.metadata, labels: { seen: 'true' } };
          return patched(request, object);
        }),
      );
      server.register(
        '/own',
        mutating(() => patched('by hand', { op: 'add', path: '/metadata/labels', value: {} })),
      );
      server.register(
        '/same',
        mutating((request) => patched(request, request.object ?? {})),
      );
    });
    const added = (value: object) => [{ op: 'add', path: '/metadata/labels', value }];
    const answer = await send('/in-place', reviewOf());
    expect(answer.json.response).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
    expect(patchOf(answer)).toEqual(added({ seen: 'true' }));
    expect(patchOf(await send('/own', reviewOf()))).toEqual(added({}));
    const { response } = (await send('/same', reviewOf())).json;
    expect(response).not.toHaveProperty('patchType');
    expect(response).toMatchObject({ allowed: true });
  });

  test('4 what cannot be read is answered with its status in a review', async () => {
    const { send } = await listening((server) => {
      server.register(
        '/v',
        validating(() => allowed()),
      );
    });
    const statusFor = async (body: object | string, type?: string) => {
      const { status, json } = await send('/v', body, type === undefined ? {} : { type });
      expect(status).toBe(200);
      const { code, message } = json.response?.['status'] as { code: number; message: string };
      expect(json.response).toMatchObject({ allowed: false, uid: '' });
      return `${code} ${message}`;
    };
    expect(await statusFor('')).toBe('400 request body is empty');
    expect(await statusFor('{}', 'text/plain')).toBe('400 contentType=text/plain, expected application/json');
    expect(await statusFor('{"a"')).toMatch(/^400 unable to decode the request: /);
    expect(await statusFor('[]')).toBe('400 unable to decode the request: it is no JSON object');
    expect(await statusFor({ kind: 'Pod', apiVersion: 'v1' })).toBe(
      '400 expected an AdmissionReview of admission.k8s.io, got kind "Pod"',
    );
    expect(await statusFor({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v2' })).toBe(
      '400 expected admission.k8s.io/v1 or admission.k8s.io/v1beta1, got "admission.k8s.io/v2"',
    );
    expect(await statusFor({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' })).toBe(
      '400 the AdmissionReview has no request',
    );
    expect(
      await statusFor({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: { uid: '' } }),
    ).toBe('400 the request of the AdmissionReview has no uid');
  });

  test('5 a body above 7 MiB is refused with 413, one below is read', async () => {
    const { send } = await listening((server) => {
      server.register(
        '/v',
        validating(() => allowed()),
      );
    });
    const limit = 7 * 1024 * 1024;
    const large = reviewOf({ object: pod({ filler: 'x'.repeat(limit) }) });
    expect((await send('/v', large)).json.response).toMatchObject({
      allowed: false,
      status: { code: 413, message: `request entity is too large; limit is ${limit} bytes` },
    });
    const fits = reviewOf({ object: pod({ filler: 'x'.repeat(limit - 2_000) }) });
    expect((await send('/v', fits)).json.response).toMatchObject({ allowed: true });
  });

  test('5b a body of unknown length is refused with 413 above 7 MiB', async () => {
    const { port } = await listening((server) => {
      server.register(
        '/v',
        validating(() => allowed()),
      );
    });
    const status = await new Promise((resolve, reject) => {
      const call = httpsRequest(
        {
          ...{ host: '127.0.0.1', port, path: '/v', method: 'POST', rejectUnauthorized: false, agent: false },
          headers: { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' },
        },
        (response) => {
          response.on('data', (chunk: Buffer) => {
            resolve((JSON.parse(chunk.toString()) as Answer['json']).response?.['status']);
            call.destroy();
          });
        },
      );
      call.on('error', reject);
      const part = Buffer.alloc(2 ** 20, ' ');
      for (let sent = 0; sent < 9; sent++) call.write(part);
    });
    expect(status).toMatchObject({ code: 413 });
  });

  test('5c a client that goes within its body ends the request, and the next one is served', async () => {
    const { port, lines, send } = await listening((server) => {
      server.register(
        '/v',
        validating(() => allowed()),
      );
    });
    const call = httpsRequest({
      ...{ host: '127.0.0.1', port, path: '/v', method: 'POST', rejectUnauthorized: false, agent: false },
      headers: { 'Content-Type': 'application/json', 'Content-Length': '1000' },
    });
    call.on('error', () => undefined);
    await new Promise((resolve) => call.write('{', resolve));
    call.destroy();
    await eventually(() => lines.some(({ message }) => message === 'unable to read the admission review'));
    expect((await send('/v', reviewOf())).status).toBe(200);
  });

  test('6 content type with a charset is JSON', async () => {
    const { send } = await listening((server) => {
      server.register(
        '/v',
        validating(() => allowed()),
      );
    });
    const { json } = await send('/v', reviewOf(), { type: 'Application/JSON; charset=utf-8' });
    expect(json.response).toMatchObject({ allowed: true });
  });

  test('7 a panic is answered with 500, counted and logged; other errors refuse', async () => {
    const { send, metrics, lines } = await listening((server) => {
      server.register(
        '/panic',
        validating(() => (undefined as unknown as { x: () => never }).x()),
      );
      server.register(
        '/error',
        validating(() => Promise.reject(new Error('no such team'))),
      );
    });
    const { response } = (await send('/panic', reviewOf())).json;
    expect(response).toMatchObject({ allowed: false, uid: 'u-1', status: { code: 500 } });
    expect(JSON.stringify(response)).toMatch(/panic: .*undefined.* \[recovered\]/);
    expect((await send('/error', reviewOf())).json.response).toMatchObject({
      allowed: false,
      status: { code: 403, message: 'no such team' },
    });
    expect(metrics()).toContain('controller_runtime_webhook_panics_total 1\n');
    expect(lines.find(({ message }) => message === 'panic in webhook')).toMatchObject({
      ...{ webhook: '/panic', user: 'ann', namespace: 'default', name: 'p', requestID: 'u-1' },
    });
  });

  test('8 without recoverPanic the panic is thrown', async () => {
    const boom = new RangeError('boom');
    const webhook = validating(() => Promise.reject(boom), { recoverPanic: false });
    await expect(webhook.handle(requestOf())).rejects.toBe(boom);
  });

  test('9 the deadline that the API server names ends the wait, and aborts the signal', async () => {
    let signal: AbortSignal | undefined;
    const entered = Promise.withResolvers<undefined>();
    const { send, clock } = await listening((server) => {
      server.register(
        '/v',
        validating((_request, context: AdmissionContext) => {
          signal = context.signal;
          entered.resolve(undefined);
          return new Promise(() => undefined);
        }),
      );
    });
    const answer = send('/v?timeout=2s', reviewOf());
    await entered.promise;
    await clock.advance(1_999);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    expect(signal?.aborted).toBe(true);
    expect((await answer).json.response).toMatchObject({ allowed: false, status: { code: 504 } });
  });

  test('10 a validating webhook that patches is an error of the webhook', async () => {
    const webhook = validating((request) => patched(request, { ...request.object, kind: 'Other' }));
    expect(await webhook.handle(requestOf())).toMatchObject({
      allowed: false,
      result: { code: 500, message: 'a validating webhook must not return patches' },
    });
  });

  test('11 multiValidating stops at the first refusal and merges warnings and annotations', async () => {
    const asked: string[] = [];
    const step =
      (name: string, response = allowed()) =>
      () => {
        asked.push(name);
        return { ...withWarnings(response, `w-${name}`), auditAnnotations: { [name]: 'y' } };
      };
    const webhook = validating(multiValidating(step('a'), step('b', denied('no')), step('c')));
    expect(await webhook.handle(requestOf())).toMatchObject({
      allowed: false,
      result: { message: 'no' },
      warnings: ['w-a', 'w-b'],
      auditAnnotations: { a: 'y', b: 'y' },
    });
    expect(asked).toEqual(['a', 'b']);
    expect(await validating(multiValidating(step('a'), step('c'))).handle(requestOf())).toMatchObject({
      allowed: true,
      warnings: ['w-a', 'w-c'],
    });
  });

  test('12 multiMutating collects the patches; a refusal answers none', async () => {
    const add = (path: string) => () => patched('', { op: 'add' as const, path, value: 1 });
    expect(await mutating(multiMutating(add('/a'), add('/b'))).handle(requestOf())).toMatchObject({
      allowed: true,
      patches: [{ path: '/a' }, { path: '/b' }],
    });
    const refused = await mutating(multiMutating(add('/a'), () => errored(400, 'bad'), add('/b'))).handle(
      requestOf(),
    );
    expect(refused).toMatchObject({ allowed: false, patches: [], result: { code: 400, message: 'bad' } });
  });

  test('13 200 requests at once are each answered with their own uid', async () => {
    const { send, metrics } = await listening((server) => {
      server.register(
        '/m',
        mutating((request) => patched(request, { ...request.object, kind: request.uid })),
      );
    });
    const uids = Array.from({ length: 200 }, (_, i) => `u-${i}`);
    const answers = await Promise.all(uids.map((uid) => send('/m', reviewOf({ uid }))));
    expect(answers.map((answer) => [answer.json.response?.['uid'], patchOf(answer)])).toEqual(
      uids.map((uid) => [uid, [{ op: 'replace', path: '/kind', value: uid }]]),
    );
    expect(metrics()).toContain('controller_runtime_webhook_requests_total{webhook="/m",code="200"} 200\n');
    expect(metrics()).toContain('controller_runtime_webhook_requests_in_flight{webhook="/m"} 0\n');
    expect(metrics()).toContain('controller_runtime_webhook_latency_seconds_count{webhook="/m"} 200\n');
  });
});
