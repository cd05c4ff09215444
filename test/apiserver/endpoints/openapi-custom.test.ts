import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { definition, definitionsPath, schema } from '../apiextensions/support.ts';
import { call } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
  await call(server, 'POST', definitionsPath, definition('widgets', { version: widget('a widget') }));
});
afterAll(() => server.stop());

const spec = {
  type: 'object',
  description: 'what it should be',
  required: ['color', 'maybe'],
  properties: {
    color: { type: 'string', description: 'its color', enum: ['red', 'green'], default: 'red' },
    maybe: { type: 'string', nullable: true },
    port: { 'x-kubernetes-int-or-string': true },
    free: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { a: { type: 'string' } },
    },
    list: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    choice: { type: 'object', properties: { a: { type: 'string' } }, oneOf: [{ required: ['a'] }] },
    template: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { spec: { type: 'object' } },
    },
  },
};
const widget = (description: string): object => ({
  ...schema({ type: 'object', description, properties: { spec } }),
  selectableFields: [{ jsonPath: '.spec.color' }],
});

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, never>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly definitions: Readonly<Record<string, Schema>>;
}
interface Schema {
  readonly properties: Readonly<Record<string, Schema>>;
}
const document = async (path: string): Promise<Document> =>
  (await call(server, 'GET', path)).body as unknown as Document;

test('version 3 has the schema of the definition, with what every object has', async () => {
  const { components, paths } = await document('/openapi/v3/apis/example.com/v1');
  const name = 'com.example.v1.Widget';
  expect(components.schemas[name]).toMatchObject({
    type: 'object',
    description: 'a widget',
    'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Widget' }],
    'x-kubernetes-selectable-fields': [{ fieldPath: 'spec.color' }],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: {
        allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }],
      },
      spec: {
        ...spec,
        properties: {
          ...spec.properties,
          port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          template: {
            required: ['kind', 'apiVersion'],
            properties: {
              spec: { type: 'object' },
              kind: { type: 'string' },
              apiVersion: { type: 'string' },
            },
          },
        },
      },
    },
  });
  expect(components.schemas['com.example.v1.WidgetList']).toMatchObject({
    required: ['items'],
    properties: { items: { type: 'array', items: { $ref: `#/components/schemas/${name}` } } },
    'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'WidgetList' }],
  });
  expect(components.schemas).toHaveProperty(['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']);
  const types = ['application/json', 'application/yaml'];
  const collection = paths['/apis/example.com/v1/namespaces/{namespace}/widgets'] as unknown as {
    readonly post: { readonly requestBody: { readonly content: object } };
    readonly get: { readonly responses: Readonly<Record<string, { readonly content: object }>> };
    readonly delete: object;
  };
  expect(Object.keys(collection.post.requestBody.content)).toEqual(types);
  expect(Object.keys(collection.get.responses['200']?.content ?? {})).toEqual(types);
  expect(collection.delete).not.toHaveProperty('requestBody');
  expect(Object.keys(paths).filter((path) => path.includes('/watch/'))).toEqual([]);
  const item = paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}'];
  expect(JSON.stringify(item?.['patch'])).toContain('apply-patch');
  expect(JSON.stringify(item?.['patch'])).not.toContain('strategic');
});

test('version 2 leaves out what its clients misread: null, junctors, and members beside unknown ones', async () => {
  const { definitions } = await document('/openapi/v2');
  const widget = definitions['com.example.v1.Widget'];
  expect(widget?.properties['metadata']).toMatchObject({
    $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  });
  expect(widget?.properties['spec']).toMatchObject({ type: 'object', required: ['color'] });
  expect(widget?.properties['spec']?.properties).toMatchObject({
    color: spec.properties.color,
    maybe: {},
    port: { 'x-kubernetes-int-or-string': true },
    free: { 'x-kubernetes-preserve-unknown-fields': true },
    list: spec.properties.list,
  });
  const { maybe, free, choice } = widget?.properties['spec']?.properties ?? {};
  expect(maybe).toEqual({});
  expect(free).toEqual({ 'x-kubernetes-preserve-unknown-fields': true });
  expect(choice).not.toHaveProperty('oneOf');
  expect(definitions['io.k8s.api.core.v1.Pod']).toBeDefined();
});

test('a change of a definition changes documents, hashes and discovery at once', async () => {
  const path = `${definitionsPath}/widgets.example.com`;
  const state = async (): Promise<readonly unknown[]> => {
    const index = (await document('/openapi/v3')).paths['apis/example.com/v1'] as unknown as {
      readonly serverRelativeURL: string;
    };
    const two = await call(server, 'GET', '/openapi/v2');
    const discovery = await call(server, 'GET', '/apis', undefined, undefined, {
      Accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    });
    return [index.serverRelativeURL, two.headers.etag, discovery.headers.etag];
  };
  const before = await state();
  expect(await state()).toEqual(before);
  const changed = await call(
    server,
    'PATCH',
    path,
    [
      { op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema/description', value: 'another' },
      { op: 'add', path: '/spec/names/shortNames', value: ['wd'] },
    ],
    'application/json-patch+json',
  );
  expect(changed.status).toBe(200);
  const after = await state();
  for (const [i, tag] of after.entries()) expect(tag).not.toBe(before[i]);
  const { components } = await document(String(after[0]));
  expect(components.schemas['com.example.v1.Widget']).toMatchObject({ description: 'another' });
  await call(server, 'DELETE', path);
  expect((await document('/openapi/v3')).paths).not.toHaveProperty(['apis/example.com/v1']);
  expect((await document('/openapi/v2')).definitions).not.toHaveProperty(['com.example.v1.Widget']);
});

test('values in JSON schemas of definitions are of any type, for kubectl’s own validation', async () => {
  const { definitions } = await document('/openapi/v2');
  const props =
    definitions['io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps']?.properties;
  expect(props?.['default']).not.toHaveProperty('type');
  expect(props?.['enum']).toMatchObject({ type: 'array', items: {} });
});

test('a kind with unknown fields at its root is an object of any members in version 2', async () => {
  const open = schema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
  await call(server, 'POST', definitionsPath, definition('opens', { kind: 'Open', version: open }));
  const { definitions } = await document('/openapi/v2');
  expect(definitions['com.example.v1.Open']).toEqual({
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Open' }],
  });
});
