import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { labelSelectorMatches } from '../../src/kube/label-selector.ts';
import { amountsOf } from '../../src/kube/resources/resources.ts';
import { validatePod } from '../../src/kube/validation/pod.ts';
import type { Pod } from '../../src/kube/types.ts';
import { type Answer, call, pod, podsPath } from '../apiserver/support.ts';

/** Names that every object inherits; a client may use each of them for its own. */
const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'then'];
const maps = '/api/v1/namespaces/default/configmaps';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
});
afterAll(() => server.stop());

/** JSON with own members of any name: an object literal would set what `__proto__` inherits. */
const json = (text: string): unknown => JSON.parse(text);
const member = (name: string, value: string): string => `{${JSON.stringify(name)}:${value}}`;

const dataOf = (answer: Answer): object => (answer.body as unknown as { data: object }).data;

let made = 0;
async function configMap(data = '{"a":"1"}'): Promise<string> {
  const name = `m${made++}`;
  const answer = await call(server, 'POST', maps, json(`{"metadata":{"name":"${name}"},"data":${data}}`));
  expect(answer.status).toBe(201);
  return `${maps}/${name}`;
}

describe('keys of config maps and secrets', () => {
  test.for(names)('%s', async (name) => {
    const path = await configMap(member(name, '"1"'));
    const { body } = await call(server, 'GET', path);
    expect(Object.entries((body as Record<string, object>)['data'] ?? {})).toEqual([[name, '1']]);
    const secret = json(`{"metadata":{"name":"s${made++}"},"stringData":${member(name, '"x"')}}`);
    const kept = await call(server, 'POST', '/api/v1/namespaces/default/secrets', secret);
    expect(kept.status).toBe(201);
    expect(Object.entries((kept.body as Record<string, object>)['data'] ?? {})).toEqual([[name, 'eA==']]);
  });
});

describe('patches', () => {
  const jsonPatch = (path: string, steps: string): ReturnType<typeof call> =>
    call(server, 'PATCH', path, json(steps), 'application/json-patch+json');

  test.for(names)('JSON patches do not reach %s', async (name) => {
    const path = await configMap();
    const quoted = JSON.stringify(name);
    for (const step of [
      `{"op":${quoted},"path":"/data/a"}`,
      `{"op":"remove","path":"/data/${name}"}`,
      `{"op":"add","path":"/${name}/x","value":"1"}`,
      `{"op":"add","path":"/data/${name}/x","value":"1"}`,
      `{"op":"test","path":"/data/${name}","value":{}}`,
    ])
      expect([step, (await jsonPatch(path, `[${step}]`)).status]).toEqual([step, 422]);
    const copied = await jsonPatch(path, `[{"op":"copy","from":"/data/${name}","path":"/data/x"}]`);
    expect(copied.status === 200 ? copied.body['data'] : copied.status).not.toEqual(500);
    expect(JSON.stringify(copied.body)).not.toContain('unction');
  });

  test.for(
    names.flatMap((name) =>
      ['application/merge-patch+json', 'application/strategic-merge-patch+json'].map(
        (type) => [name, type] as const,
      ),
    ),
  )('%s by %s', async ([name, type]) => {
    const path = await configMap();
    const set = await call(server, 'PATCH', path, json(`{"data":${member(name, '"1"')}}`), type);
    expect(set.status).toBe(200);
    expect(Object.entries(dataOf(set))).toContainEqual([name, '1']);
    const gone = await call(server, 'PATCH', path, json(`{"data":${member(name, 'null')}}`), type);
    expect(Object.entries(dataOf(gone))).toEqual([['a', '1']]);
  });

  test.for(names)('%s by server-side apply', async (name) => {
    const path = await configMap();
    const body = (value: string): unknown => json(`{"apiVersion":"v1","kind":"ConfigMap","data":${value}}`);
    const apply = (value: string): ReturnType<typeof call> =>
      call(server, 'PATCH', `${path}?fieldManager=me`, body(value), 'application/apply-patch+yaml');
    expect(Object.entries(dataOf(await apply(member(name, '"1"'))))).toContainEqual([name, '1']);
    expect(Object.entries(dataOf(await apply('{}')))).toEqual([['a', '1']]);
  });
});

describe('selectors', () => {
  beforeAll(async () => {
    await call(server, 'POST', podsPath, pod('plain'));
  });
  const count = async (query: string): Promise<unknown> => {
    const { status, body } = await call(server, 'GET', `${podsPath}?${query}`);
    return status === 200 ? (body as unknown as { items: unknown[] }).items.length : status;
  };
  const labels = names.filter((name) => /^[a-zA-Z]/.test(name));

  test.for(labels)('-l %s', async (name) => {
    expect(await count(`labelSelector=${name}`)).toBe(0);
    expect(await count(`labelSelector=!${name}`)).toBe(1);
    expect(await count(`labelSelector=${name}!=a`)).toBe(1);
    expect(await count(`labelSelector=${encodeURIComponent(`${name} notin (a)`)}`)).toBe(1);
    expect(labelSelectorMatches({ matchExpressions: [{ key: name, operator: 'Exists' }] }, {})).toBe(false);
    expect(labelSelectorMatches({ matchExpressions: [{ key: 'a', operator: name }] }, { a: '1' })).toBe(
      false,
    );
  });

  test.for(names)('fields named %s', async (name) => {
    for (const kind of ['pods', 'nodes', 'events', 'services', 'configmaps']) {
      const at = kind === 'nodes' ? '/api/v1/nodes' : `/api/v1/${kind}`;
      expect((await call(server, 'GET', `${at}?fieldSelector=${name}%3Da`)).status).toBe(400);
    }
  });
});

describe('other places', () => {
  test.for(names)('requests for a token bound to %s', async (name) => {
    const at = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const boundObjectRef = { kind: name, apiVersion: 'v1', name: 'x' };
    const { status, body } = await call(server, 'POST', at, { spec: { boundObjectRef } });
    expect(status).toBe(400);
    expect(body['message']).toContain('cannot bind token to object of type');
  });

  test.for(names)('containers that ask for the resource %s', async (name) => {
    for (const side of ['requests', 'limits']) {
      const resources = `{${JSON.stringify(side)}:${member(name, '"1"')}}`;
      const spec = `{"containers":[{"name":"c","image":"x","resources":${resources}}]}`;
      const answer = await call(server, 'POST', podsPath, json(`{"metadata":{"name":"r"},"spec":${spec}}`));
      expect([answer.status, answer.body['reason']]).toEqual([422, 'Invalid']);
      const standing = { metadata: { name: 'r', namespace: 'n' }, spec: json(spec) } as Pod;
      expect(validatePod(standing).map(({ field }) => field)).toContain(
        `spec.containers[0].resources.${side}[${name}]`,
      );
    }
    expect(() => amountsOf(json(member(name, '"1"')) as Record<string, string>)).not.toThrow();
  });

  test.for(names)('paths, methods, media types and options named %s', async (name) => {
    const encoded = encodeURIComponent(name);
    for (const [method, path, status] of [
      ['GET', `/api/v1/${encoded}`, [404]],
      ['GET', `/apis/${encoded}`, [404]],
      ['GET', `/apis/${encoded}/v1/pods`, [404]],
      ['GET', `${podsPath}/plain/${encoded}`, [404]],
      ['GET', `/${encoded}`, [404]],
      ['GET', `/openapi/v3/${encoded}`, [404]],
      ['GET', `/healthz/${encoded}`, [404]],
      ['POST', `${maps}?fieldValidation=${encoded}`, [422]],
      ['POST', `${maps}?dryRun=${encoded}`, [422]],
    ] as const)
      expect([path, status]).toEqual([path, [(await call(server, method, path, {})).status]]);
    const typed = await call(server, 'POST', maps, {}, name);
    expect(typed.status).toBe(415);
    const patched = await call(server, 'PATCH', `${maps}/none`, {}, name);
    expect(patched.status).toBe(415);
    const viewed = await call(server, 'GET', maps, undefined, undefined, { Accept: name });
    expect([200, 406]).toContain(viewed.status);
  });

  test('quotas, scopes and limits', async () => {
    for (const name of names) {
      const spec = json(`{"hard":${member(name, '"1"')},"scopes":[${JSON.stringify(name)}]}`);
      const quota = await call(server, 'POST', '/api/v1/namespaces/default/resourcequotas', {
        metadata: { name: 'q' },
        spec,
      });
      expect([name, quota.status]).toEqual([name, 422]);
      const limits = json(`[{"type":"Container","max":${member(name, '"1"')}}]`);
      const range = await call(server, 'POST', '/api/v1/namespaces/default/limitranges', {
        metadata: { name: 'l' },
        spec: { limits },
      });
      expect([name, range.status]).toEqual([name, 422]);
    }
  });
});

test('no request ends in 500 because of names and values that it holds', async () => {
  const name = fc.oneof(
    fc.constantFrom(...names),
    fc.constantFrom('metadata', 'spec', 'data', 'labels', 'status'),
  );
  const value = fc.letrec<{ any: unknown; object: object }>((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, '', 'a', '1', 0, -1, true, 1.5, [], {}),
      fc.constantFrom(...names),
      fc.array(tie('any'), { maxLength: 3 }),
      tie('object'),
    ),
    object: fc.array(fc.tuple(name, tie('any')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
  }));
  const resource = fc.constantFrom(
    ['/api/v1/namespaces/default/pods', 'Pod', 'v1'],
    ['/api/v1/namespaces/default/services', 'Service', 'v1'],
    ['/api/v1/namespaces/default/secrets', 'Secret', 'v1'],
    ['/api/v1/namespaces/default/limitranges', 'LimitRange', 'v1'],
    ['/api/v1/namespaces/default/resourcequotas', 'ResourceQuota', 'v1'],
    ['/api/v1/namespaces/default/persistentvolumeclaims', 'PersistentVolumeClaim', 'v1'],
    ['/api/v1/persistentvolumes', 'PersistentVolume', 'v1'],
    ['/api/v1/nodes', 'Node', 'v1'],
    ['/apis/apps/v1/namespaces/default/deployments', 'Deployment', 'apps/v1'],
    ['/apis/policy/v1/namespaces/default/poddisruptionbudgets', 'PodDisruptionBudget', 'policy/v1'],
    [
      '/apis/certificates.k8s.io/v1/certificatesigningrequests',
      'CertificateSigningRequest',
      'certificates.k8s.io/v1',
    ],
    ['/apis/events.k8s.io/v1/namespaces/default/events', 'Event', 'events.k8s.io/v1'],
    ['/apis/authorization.k8s.io/v1/subjectaccessreviews', 'SubjectAccessReview', 'authorization.k8s.io/v1'],
    ['/api/v1/namespaces/default/serviceaccounts/default/token', 'TokenRequest', 'authentication.k8s.io/v1'],
  );
  const types = [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
  ];
  await fc.assert(
    fc.asyncProperty(
      resource,
      fc.record({ spec: value.any, data: value.any, status: value.any }, { requiredKeys: [] }),
      fc.record(
        { labels: value.any, annotations: value.any, ownerReferences: value.any },
        { requiredKeys: [] },
      ),
      value.any,
      async ([path = '', kind, apiVersion], parts, metadata, patch) => {
        const body = { kind, apiVersion, metadata: { name: 'fuzzed', ...metadata }, ...parts };
        const created = await call(server, 'POST', path, body);
        expect(created.status, JSON.stringify([body, created.body])).toBeLessThan(500);
        for (const type of types) {
          const at = created.status === 201 ? `${path}/fuzzed` : await configMap();
          const sent = type.startsWith('application/json-') ? [patch].flat() : patch;
          const answer = await call(server, 'PATCH', `${at}?fieldManager=f`, sent, type);
          expect([answer.status, JSON.stringify([patch, answer.body])].join(' ')).not.toMatch(
            /^500.*Internal error occurred"|^50[1-9]/,
          );
        }
        if (created.status === 201) await call(server, 'DELETE', `${path}/fuzzed?gracePeriodSeconds=0`);
      },
    ),
    { numRuns: 150 },
  );
}, 120_000);
