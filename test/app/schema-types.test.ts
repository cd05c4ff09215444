import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { typesOfDefinitions } from '../../src/app/schema-types.ts';

const root = join(import.meta.dirname, '../..');

const controller = `export interface KubeObject { apiVersion?: string; kind?: string; metadata?: object }
export type UnstructuredObject = KubeObject & Record<string, unknown>;
export interface Kind<T extends KubeObject> { readonly resource: string; readonly of?: T }
export declare function defineKind<T extends KubeObject>(kind: object): Kind<T>;
`;

const version = (name: string, storage: boolean, properties: object, more: object = {}) => ({
  ...{ name, served: true, storage },
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { type: 'object' },
        ...properties,
      },
      ...more,
    },
  },
});
const definition = (versions: object[], kind = 'CronTab', scope = 'Namespaced') => ({
  spec: { group: 'example.com', scope, names: { kind, plural: `${kind.toLowerCase()}s` }, versions },
});
const spec = {
  type: 'object',
  description: 'What is wanted.\n\nEnds */ a comment.',
  required: ['cron', 'weird-name'],
  properties: {
    cron: { type: 'string', description: 'When it runs.' },
    'weird-name': { type: 'boolean', default: true },
    port: { 'x-kubernetes-int-or-string': true },
    ports: { type: 'array', items: { 'x-kubernetes-int-or-string': true } },
    policy: { type: 'string', enum: ['Allow', 'Forbid'] },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    limits: {
      type: 'object',
      additionalProperties: { type: 'object', properties: { max: { type: 'integer' } } },
    },
    template: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
    typed: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { metadata: { type: 'object' }, data: { type: 'string' } },
    },
    free: { 'x-kubernetes-preserve-unknown-fields': true },
    open: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { known: { type: 'number' } },
    },
    maybe: { type: 'string', nullable: true },
    items: {
      type: 'array',
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
    nested: { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
  },
};
const all = [
  definition([
    version('v1beta1', false, { spec: { type: 'object' } }),
    version('v1', true, { spec, data: { type: 'string' } }, { required: ['spec'] }),
  ]),
  definition([version('v1', true, {})], 'CronTabSpec', 'Cluster'),
];
const text = typesOfDefinitions(all, 'podtender/controller');

test('structural schemas become interfaces, member by member', () => {
  const has = (...lines: string[]) => {
    for (const line of lines) expect(text).toContain(line);
  };
  has(
    'export interface CronTabV1beta1 extends KubeObject {\n  spec?: Record<string, unknown>;\n}',
    'export interface CronTab extends KubeObject {\n',
    '  spec: CronTabSpec;\n  data?: string;\n}',
    '  /** When it runs. */\n  cron: string;\n',
    '  /** @default true */\n  "weird-name": boolean;\n',
    '  port?: number | string;\n',
    '  ports?: (number | string)[];\n',
    '  policy?: "Allow" | "Forbid";\n',
    '  labels?: Record<string, string>;\n',
    '  limits?: Record<string, CronTabSpecLimitsValue>;\n',
    '  template?: UnstructuredObject;\n',
    'export interface CronTabSpecTyped extends KubeObject {\n  data?: string;\n}',
    '  free?: unknown;\n',
    'export interface CronTabSpecOpen {\n  known?: number;\n  [member: string]: unknown;\n}',
    '  maybe?: string | null;\n',
    '  items?: CronTabSpecItemsItem[];\n',
    '  nested?: number[][];\n',
    '/**\n * What is wanted.\n *\n * Ends *\\/ a comment.\n */\nexport interface CronTabSpec {',
    'export const CronTab: Kind<CronTab> = defineKind<CronTab>({\n  group: "example.com",\n  version: "v1",\n  kind: "CronTab",\n  resource: "crontabs",\n  namespaced: true,\n});',
    // a kind whose name is taken by a member of another gets a number
    'export const CronTabSpec2: Kind<CronTabSpec2>',
    '  kind: "CronTabSpec",\n  resource: "crontabspecs",\n  namespaced: false,\n',
  );
});

test('what is generated type-checks under strict settings', { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'pt-types-'));
  try {
    // the package's own types take seconds to check: test/e2e has them
    writeFileSync(join(dir, 'controller.ts'), controller);
    writeFileSync(join(dir, 'types.ts'), text.replace('podtender/controller', './controller.ts'));
    const use = `import { CronTab } from './types.ts';
export const tab: CronTab = { spec: { cron: '', 'weird-name': true, port: 1, open: { known: 1, more: {} }, maybe: null } };
// @ts-expect-error a value that is not in the enum
export const policy: CronTab['spec']['policy'] = 'Other';
export const { resource } = CronTab;\n`;
    writeFileSync(join(dir, 'use.ts'), use);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const flags =
      '--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --target es2024 --lib es2024 --module nodenext --allowImportingTsExtensions --pretty false';
    const { stdout } = spawnSync(process.execPath, [tsc, ...flags.split(' '), 'use.ts'], {
      encoding: 'utf8',
      cwd: dir,
    });
    expect(stdout.split('\n').filter((line) => /^(use|types)\.ts/.test(line))).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
