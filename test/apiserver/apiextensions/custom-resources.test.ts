import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { type Answer, call } from '../support.ts';
import { definition, definitionsPath, schema } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  await call(server, 'POST', definitionsPath, widgets);
});
afterAll(() => server.stop());

const spec = {
  type: 'object',
  properties: {
    replicas: { type: 'integer' },
    color: { type: 'string', default: 'red' },
    parts: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, size: { type: 'integer' } },
      },
    },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  },
};
const status = {
  type: 'object',
  properties: { replicas: { type: 'integer' }, selector: { type: 'string' }, phase: { type: 'string' } },
};
const widgets = definition('widgets', {
  names: { shortNames: ['wd'], categories: ['all'] },
  version: {
    ...schema({ type: 'object', properties: { spec, status } }),
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
    selectableFields: [{ jsonPath: '.spec.color' }],
  },
});

interface Seen {
  readonly metadata: {
    readonly generation: number;
    readonly resourceVersion: string;
    readonly uid: string;
    readonly labels?: object;
    readonly managedFields: readonly { readonly manager: string; readonly fieldsV1: object }[];
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: object;
  readonly message?: string;
  readonly items: readonly Seen[];
}
const seen = (answer: Answer): Seen => answer.body as unknown as Seen;
const path = '/apis/example.com/v1/namespaces/default/widgets';
const widget = (name: string, more: object = {}): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name },
  spec: { replicas: 1 },
  ...more,
});
const post = (body: object, query = ''): Promise<Answer> => call(server, 'POST', path + query, body);
const merge = (name: string, body: object, query = ''): Promise<Answer> =>
  call(server, 'PATCH', `${path}/${name}${query}`, body, 'application/merge-patch+json');
const apply = (name: string, body: object, manager: string, force = ''): Promise<Answer> =>
  call(
    server,
    'PATCH',
    `${path}/${name}?fieldManager=${manager}${force}`,
    body,
    'application/apply-patch+yaml',
  );

test('an object is made with defaults, read, listed and deleted', async () => {
  const made = await post(widget('made', { status: { phase: 'x' } }));
  expect(made.status).toBe(201);
  expect(seen(made).spec).toEqual({ replicas: 1, color: 'red' });
  expect(seen(made).status).toBeUndefined();
  expect(seen(made).metadata.generation).toBe(1);
  const found = await call(server, 'GET', `${path}/made`);
  expect(found.body).toEqual(made.body);
  const list = await call(server, 'GET', '/apis/example.com/v1/widgets');
  expect(list.body).toMatchObject({ kind: 'WidgetList', apiVersion: 'example.com/v1' });
  expect(seen(list).items).toHaveLength(1);
  const gone = await call(server, 'DELETE', `${path}/made`);
  expect(gone.body).toMatchObject({
    kind: 'Status',
    status: 'Success',
    details: { kind: 'widgets', group: 'example.com' },
  });
  expect((await call(server, 'GET', `${path}/made`)).body).toMatchObject({
    message: 'widgets.example.com "made" not found',
  });
});

test('the generation counts changes of the spec alone, and the status has a door of its own', async () => {
  await post(widget('counted'));
  expect(seen(await merge('counted', { metadata: { labels: { a: 'b' } } })).metadata.generation).toBe(1);
  const changed = seen(await merge('counted', { spec: { replicas: 2 }, status: { phase: 'no' } }));
  expect(changed.metadata.generation).toBe(2);
  expect(changed.status).toBeUndefined();
  const inner = await merge(
    'counted',
    { status: { phase: 'Up' }, spec: { replicas: 9 }, metadata: { labels: { a: 'c' } } },
    '/status',
  );
  expect(seen(inner)).toMatchObject({
    status: { phase: 'Up' },
    spec: { replicas: 2 },
    metadata: { generation: 2, labels: { a: 'b' } },
  });
});

test('an update names the version that it is of', async () => {
  const made = await post(widget('versioned'));
  const { resourceVersion } = seen(made).metadata;
  const put = (metadata: object): Promise<Answer> =>
    call(
      server,
      'PUT',
      `${path}/versioned`,
      widget('versioned', { metadata: { name: 'versioned', ...metadata }, spec: { replicas: 3 } }),
    );
  expect(seen(await put({})).message).toContain(
    'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  );
  expect((await put({ resourceVersion })).status).toBe(200);
  expect((await put({ resourceVersion })).status).toBe(409);
  expect(
    (
      await call(
        server,
        'PUT',
        `${path}/none`,
        widget('none', { metadata: { name: 'none', resourceVersion } }),
      )
    ).status,
  ).toBe(404);
});

test('JSON and merge patches are taken, strategic ones are not', async () => {
  await post(widget('patched'));
  const steps = [{ op: 'replace', path: '/spec/replicas', value: 5 }];
  const json = await call(server, 'PATCH', `${path}/patched`, steps, 'application/json-patch+json');
  expect(seen(json).spec['replicas']).toBe(5);
  const strategic = await call(
    server,
    'PATCH',
    `${path}/patched`,
    {},
    'application/strategic-merge-patch+json',
  );
  expect(strategic.status).toBe(415);
  expect(seen(strategic).message).toBe(
    'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
  );
});

test('fields that are not declared are left out, with a warning, an error or silently', async () => {
  const odd = { spec: { replicas: 1, size: 2, parts: [{ name: 'a', weight: 1 }], free: { any: 1 } } };
  const warned = await post(widget('warned', odd));
  expect(seen(warned).spec).toEqual({ replicas: 1, color: 'red', parts: [{ name: 'a' }], free: { any: 1 } });
  expect(warned.headers.warning).toContain('unknown field \\"spec.size\\"');
  expect(warned.headers.warning).toContain('unknown field \\"spec.parts[0].weight\\"');
  const strict = await post(widget('strict', odd), '?fieldValidation=Strict');
  expect(strict.status).toBe(400);
  expect(seen(strict).message).toBe(
    'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.parts[0].weight", unknown field "spec.size"',
  );
  expect((await post(widget('silent', odd), '?fieldValidation=Ignore')).headers.warning).toBeUndefined();
});

test('what is of another kind or version is refused', async () => {
  expect(seen(await post({ ...widget('other'), kind: 'Gadget' })).message).toBe(
    'Gadget.example.com "other" is invalid: kind: Invalid value: "Gadget": must be Widget',
  );
  const otherVersion = await post({ ...widget('other'), apiVersion: 'example.com/v2' });
  expect(seen(otherVersion).message).toBe(
    'the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)',
  );
  expect(otherVersion.headers.warning).toContain('unknown field \\"spec\\"');
  const { kind: _kind, ...kindless } = widget('other') as Record<string, unknown>;
  expect(seen(await post(kindless)).message).toContain(
    "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{",
  );
  expect(seen(await post(kindless, '?fieldValidation=Ignore')).message).toContain(
    'Widget in version "v1" cannot be handled as a Widget: Object \'Kind\' is missing in',
  );
  expect(seen(await post({ ...widget('other'), apiVersion: null })).message).toContain(
    '.apiVersion accessor error: <nil> is of the type <nil>, expected string',
  );
});

test('a dry run leaves nothing', async () => {
  expect((await post(widget('dry'), '?dryRun=All')).status).toBe(201);
  expect((await call(server, 'GET', `${path}/dry`)).status).toBe(404);
});

test('labels, metadata and selectable fields select', async () => {
  await post(widget('blue', { metadata: { name: 'blue', labels: { is: 'blue' } }, spec: { color: 'blue' } }));
  const names = async (query: string): Promise<readonly string[]> =>
    (
      seen(await call(server, 'GET', `${path}?${query}`)).items as unknown as readonly {
        metadata: { name: string };
      }[]
    ).map(({ metadata }) => metadata.name);
  expect(await names('labelSelector=is%3Dblue')).toEqual(['blue']);
  expect(await names('fieldSelector=metadata.name%3Dblue')).toEqual(['blue']);
  expect(await names('fieldSelector=spec.color%3Dblue')).toEqual(['blue']);
  expect(seen(await call(server, 'GET', `${path}?fieldSelector=spec.replicas%3D1`)).message).toBe(
    'field label not supported: spec.replicas',
  );
});

test('finalizers hold an object, and deletecollection takes all', async () => {
  await post(
    widget('held', { metadata: { name: 'held', labels: { all: 'of' }, finalizers: ['example.com/f'] } }),
  );
  await post(widget('loose', { metadata: { name: 'loose', labels: { all: 'of' } } }));
  expect((await call(server, 'DELETE', `${path}?labelSelector=all%3Dof`)).status).toBe(200);
  expect((await call(server, 'GET', `${path}/loose`)).status).toBe(404);
  expect((await call(server, 'GET', `${path}/held`)).status).toBe(200);
  await merge('held', { metadata: { finalizers: null } });
  expect((await call(server, 'GET', `${path}/held`)).status).toBe(404);
});

test('server-side apply joins lists by their keys and keeps owners apart', async () => {
  const a = { spec: { parts: [{ name: 'a', size: 1 }] } };
  const b = { spec: { parts: [{ name: 'b', size: 2 }], free: { x: { y: 1 } } } };
  expect((await apply('applied', widget('applied', a), 'one')).status).toBe(201);
  const joined = await apply('applied', widget('applied', b), 'two');
  expect(seen(joined).spec).toEqual({
    color: 'red',
    parts: [
      { name: 'a', size: 1 },
      { name: 'b', size: 2 },
    ],
    free: { x: { y: 1 } },
  });
  const conflict = await apply('applied', widget('applied', { spec: { free: { x: { y: 2 } } } }), 'one');
  expect(seen(conflict).message).toBe('Apply failed with 1 conflict: conflict with "two": .spec.free.x.y');
  const dropped = await apply('applied', widget('applied', { spec: {} }), 'one');
  expect(seen(dropped).spec['parts']).toEqual([{ name: 'b', size: 2 }]);
  expect(seen(dropped).metadata.managedFields.map(({ manager }) => manager)).toContain('two');
  const wrong = await apply('applied', widget('applied', { spec: { nothing: 1 } }), 'one');
  expect(seen(wrong).message).toBe(
    'failed to create typed patch object (/applied; example.com/v1, Kind=Widget): .spec.nothing: field not declared in schema',
  );
});

test('the scale is read and written by its paths', async () => {
  await post(widget('scaled', { spec: { replicas: 2 } }));
  await merge('scaled', { status: { replicas: 1, selector: 'a=b' } }, '/status');
  const scale = await call(server, 'GET', `${path}/scaled/scale`);
  expect(scale.body).toMatchObject({
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'scaled', namespace: 'default' },
    spec: { replicas: 2 },
    status: { replicas: 1, selector: 'a=b' },
  });
  const patch = (replicas: number): Promise<Answer> => merge('scaled', { spec: { replicas } }, '/scale');
  expect(seen(await patch(4)).spec).toEqual({ replicas: 4 });
  expect(seen(await patch(-1)).message).toContain(
    '.spec.replicas: Invalid value: -1: should be a non-negative integer',
  );
  const put = await call(server, 'PUT', `${path}/scaled/scale`, {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'scaled', namespace: 'default' },
    spec: { replicas: 6 },
  });
  expect(put.status).toBe(200);
  expect(seen(await call(server, 'GET', `${path}/scaled`))).toMatchObject({
    spec: { replicas: 6 },
    metadata: { generation: 3 },
  });
});

test('values that a scale cannot have are refused, also in the object', async () => {
  const of = async (answer: Promise<Answer>): Promise<string> => seen(await answer).message ?? '';
  await post(widget('odd', { spec: { replicas: 2 } }));
  expect(await of(merge('odd', { spec: { replicas: -1 } }))).toContain(
    '.spec.replicas: Invalid value: -1: should be a non-negative integer',
  );
  expect(await of(merge('odd', { status: { replicas: 3e9 } }, '/status'))).toContain(
    '.status.replicas: Invalid value: 3000000000: should be less than or equal to 2147483647',
  );
  expect(await of(merge('odd', { status: { selector: 5 } }, '/status'))).toContain(
    '.status.selector: Invalid value: "": .status.selector accessor error: 5 is of the type int64, expected string',
  );
  expect(await of(post(widget('odder', { spec: 1 })))).toContain(
    '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type int64, expected map[string]interface{}',
  );
});

test('a finalizer that may collide with another is warned of', async () => {
  const finalizers = ['a', 'b.c', 'd.e/f', 'orphan'];
  const made = await post(widget('final', { metadata: { name: 'final', finalizers } }));
  expect(made.headers.warning).toMatch(
    /^299 - "metadata\.finalizers: \\"a\\": prefer a domain-qualified finalizer name to [^,]+", 299 - "metadata\.finalizers: \\"b\.c\\": prefer a domain-qualified finalizer name including a path \(\/\) to [^,]+"$/,
  );
});

test('discovery lists the group, its kinds and their subresources', async () => {
  const list = await call(server, 'GET', '/apis/example.com/v1');
  const { resources } = list.body as unknown as { resources: readonly { readonly name: string }[] };
  expect(resources.map(({ name }) => name)).toEqual(['widgets', 'widgets/status', 'widgets/scale']);
  expect(resources[0]).toMatchObject({
    kind: 'Widget',
    singularName: 'widget',
    shortNames: ['wd'],
    categories: ['all'],
    namespaced: true,
  });
  const group = await call(server, 'GET', '/apis/example.com');
  expect(group.body).toMatchObject({ preferredVersion: { version: 'v1' } });
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const all = await call(server, 'GET', '/apis', undefined, '', { Accept: accept });
  const { items } = all.body as unknown as { items: readonly { metadata: { name: string } }[] };
  expect(items.map(({ metadata }) => metadata.name)).toContain('example.com');
});

test('versions are served in their order, by their own schemas, and deprecated ones warn', async () => {
  const version = (name: string, more: object, properties: object): object => ({
    name,
    served: true,
    storage: false,
    ...schema({ type: 'object', properties: { spec: { type: 'object', properties } } }),
    ...more,
  });
  const size = { size: { type: 'integer' } };
  const versions = [
    version('v1beta1', { deprecated: true }, size),
    version('v2', { storage: true }, { ...size, unit: { type: 'string', default: 'cm' } }),
  ];
  await call(
    server,
    'POST',
    definitionsPath,
    definition('rods', { kind: 'Rod', group: 'v.example.com', spec: { versions } }),
  );
  const group = await call(server, 'GET', '/apis/v.example.com');
  expect(
    (group.body as unknown as { versions: readonly { version: string }[] }).versions.map(
      (one) => one.version,
    ),
  ).toEqual(['v2', 'v1beta1']);
  const rods = (name: string): string => `/apis/v.example.com/${name}/namespaces/default/rods`;
  const made = await call(server, 'POST', rods('v1beta1'), {
    apiVersion: 'v.example.com/v1beta1',
    kind: 'Rod',
    metadata: { name: 'r' },
    spec: { size: 1, unit: 'm' },
  });
  expect(made.headers.warning).toContain('v.example.com/v1beta1 Rod is deprecated');
  expect(seen(made).spec).toEqual({ size: 1 });
  const other = await call(server, 'GET', `${rods('v2')}/r`);
  expect(other.body).toMatchObject({ apiVersion: 'v.example.com/v2', spec: { size: 1, unit: 'cm' } });
  expect(seen(await call(server, 'GET', `${rods('v1beta1')}/r`)).spec).toEqual({ size: 1 });
});

test('an object goes with its namespace, and all go with their definition', async () => {
  await call(server, 'POST', '/api/v1/namespaces', { metadata: { name: 'short' } });
  const inShort = '/apis/example.com/v1/namespaces/short/widgets';
  await call(server, 'POST', inShort, widget('w'));
  await call(server, 'DELETE', '/api/v1/namespaces/short');
  await expect.poll(async () => (await call(server, 'GET', '/api/v1/namespaces/short')).status).toBe(404);
  await call(server, 'POST', definitionsPath, definition('bolts', { kind: 'Bolt', group: 'b.example.com' }));
  const bolts = '/apis/b.example.com/v1/namespaces/default/bolts';
  const bolt = {
    apiVersion: 'b.example.com/v1',
    kind: 'Bolt',
    metadata: { name: 'b', finalizers: ['example.com/f'] },
  };
  expect((await call(server, 'POST', bolts, bolt)).status).toBe(201);
  await call(server, 'DELETE', `${definitionsPath}/bolts.b.example.com`);
  const more = await call(server, 'POST', bolts, { ...bolt, metadata: { name: 'c' } });
  expect(more.status).toBe(405);
  await call(
    server,
    'PATCH',
    `${bolts}/b`,
    { metadata: { finalizers: null } },
    'application/merge-patch+json',
  );
  await expect
    .poll(async () => (await call(server, 'GET', `${definitionsPath}/bolts.b.example.com`)).status)
    .toBe(404);
  expect((await call(server, 'GET', bolts)).status).toBe(404);
  expect((await call(server, 'GET', '/apis/b.example.com')).status).toBe(404);
});

test('definitions and objects outlive a restart', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'custom-resources-'));
  const first = await EmbeddedApiServer.start({ dataDir, controllers: false });
  await call(first, 'POST', definitionsPath, widgets);
  await call(first, 'POST', path, widget('kept'));
  await first.stop();
  const second = await EmbeddedApiServer.start({ dataDir, controllers: false });
  expect(seen(await call(second, 'GET', `${path}/kept`)).spec).toEqual({ replicas: 1, color: 'red' });
  await second.stop();
  await rm(dataDir, { recursive: true });
});

test('values that break the schema are refused', async () => {
  const wrong = await post(widget('wrong', { spec: { replicas: 'x', parts: [{ size: 1 }] } }));
  expect(wrong.status).toBe(422);
  expect(seen(wrong).message).toBe(
    'Widget.example.com "wrong" is invalid: [spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", spec.parts[0].name: Required value, .spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64]',
  );
});

test('tables have the columns of the definition, or the age', async () => {
  const columns = [
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Ready', type: 'string', jsonPath: '.spec.conditions[?(@.type=="Ready")].status' },
    { name: 'First', type: 'string', jsonPath: '.spec.names[0]', priority: 1 },
    { name: 'Odd', type: 'boolean', jsonPath: ".metadata.annotations['example.com/odd']" },
  ];
  const group = 't.example.com';
  await call(
    server,
    'POST',
    definitionsPath,
    definition('tabs', { kind: 'Tab', group, version: { additionalPrinterColumns: columns } }),
  );
  await call(server, 'POST', definitionsPath, definition('plains', { kind: 'Plain', group }));
  const at = (plural: string): string => `/apis/${group}/v1/namespaces/default/${plural}`;
  const conditions = [
    { type: 'Other', status: 'no' },
    { type: 'Ready', status: 'True' },
  ];
  const tab = {
    apiVersion: `${group}/v1`,
    kind: 'Tab',
    metadata: { name: 't' },
    spec: { size: 3, conditions, names: ['n'] },
  };
  await call(server, 'POST', at('tabs'), tab);
  await call(server, 'POST', at('plains'), {
    apiVersion: `${group}/v1`,
    kind: 'Plain',
    metadata: { name: 'p' },
  });
  const table = async (
    plural: string,
  ): Promise<{ columnDefinitions: readonly { name: string }[]; rows: readonly { cells: unknown }[] }> =>
    (
      await call(server, 'GET', at(plural), undefined, '', {
        Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      })
    ).body as never;
  const tabs = await table('tabs');
  expect(tabs.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Size', 'Ready', 'First', 'Odd']);
  expect(tabs.rows.map(({ cells }) => cells)).toEqual([['t', 3, 'True', 'n', null]]);
  const plains = await table('plains');
  expect(plains.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Age']);
  expect(plains.rows[0]?.cells).toEqual(['p', expect.stringMatching(/^\d+s$/)]);
});

test('a format that is not known is warned of, once it is there no more', async () => {
  const of = (format: string): object =>
    definition('formats', {
      kind: 'Format',
      group: 'f.example.com',
      version: schema({
        type: 'object',
        properties: {
          a: { type: 'string', format },
          b: { type: 'array', items: { type: 'integer', format: 'int32' } },
        },
      }),
    });
  const made = await call(server, 'POST', definitionsPath, of('odd'));
  expect(made.headers.warning).toBe('299 - "unrecognized format \\"odd\\""');
  const at = `${definitionsPath}/formats.f.example.com`;
  const kept = await call(
    server,
    'PATCH',
    at,
    { metadata: { labels: { a: 'b' } } },
    'application/merge-patch+json',
  );
  expect([kept.status, kept.headers.warning]).toEqual([200, undefined]);
});

test('the metadata of an embedded resource keep what all objects have', async () => {
  const embedded = { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
  const version = schema({ type: 'object', properties: { spec: { type: 'object', ...embedded } } });
  const group = 'e.example.com';
  await call(server, 'POST', definitionsPath, definition('holders', { kind: 'Holder', group, version }));
  const made = await call(
    server,
    'POST',
    `/apis/${group}/v1/namespaces/default/holders?fieldValidation=Warn`,
    {
      apiVersion: `${group}/v1`,
      kind: 'Holder',
      metadata: { name: 'h' },
      spec: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', odd: 1 }, more: { x: 1 } },
    },
  );
  expect(made.body['spec']).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    more: { x: 1 },
  });
  expect(made.headers.warning).toBe('299 - "unknown field \\"spec.metadata.odd\\""');
});

test('a status may name another kind: then its fields have no owner', async () => {
  await post(widget('foreign'));
  const answer = await merge('foreign', { kind: 'Gadget', status: { replicas: 1 } }, '/status');
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ kind: 'Widget', status: { replicas: 1 } });
  expect(answer.body).not.toHaveProperty('metadata.managedFields');
  const refused = await merge('foreign', { kind: 'Gadget' });
  expect(seen(refused).message).toContain('kind: Invalid value: "Gadget": must be Widget');
  const versionless = await merge('foreign', { apiVersion: '' });
  expect(seen(versionless).message).toContain("Object 'apiVersion' is missing");
});
