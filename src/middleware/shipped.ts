import { Ajv, type ErrorObject, type SchemaObject } from 'ajv';
import { AgentError } from '../base/errors.ts';
import { tableOf } from '../base/own.ts';
import type { Middleware } from '../provider/middleware.ts';
import { configRender, type ConfigRenderSettings } from './config-render.ts';
import type { MiddlewareContext } from './context.ts';
import { envImport, type EnvImportSettings } from './env-import.ts';
import { imageAllowList, type ImageAllowListSettings } from './image-allow-list.ts';
import { podCertificates, type PodCertificatesSettings } from './pod-certificates.ts';
import { resourceFilter, type ResourceFilterSettings } from './resource-filter.ts';

/** A middleware that ships with podtender: the schema of its settings, and how it is made from them. */
interface Shipped {
  readonly schema: SchemaObject;
  readonly make: (settings: never, context: MiddlewareContext) => Middleware;
}

const text: SchemaObject = { type: 'string', minLength: 1 };
const texts: SchemaObject = { type: 'array', items: text };
const selector: SchemaObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
    matchExpressions: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['key', 'operator'],
        properties: {
          key: text,
          operator: { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
          values: { type: 'array', items: { type: 'string' } },
        },
      },
    },
  },
};
const selection = { namespaces: texts, selector };
const settingsOf = (
  properties: Record<string, SchemaObject>,
  required: readonly string[] = [],
): SchemaObject => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required: [...required],
});
/** Lists of Kubernetes' own types: the agent checks each entry when it resolves it. */
const entries: SchemaObject = { type: 'array', items: { type: 'object' } };

const shipped: Readonly<Record<string, Shipped>> = tableOf({
  envImport: {
    schema: settingsOf({
      rules: {
        type: 'array',
        items: settingsOf({ ...selection, containers: texts, env: entries, envFrom: entries }),
      },
      limits: { type: 'boolean' },
    }),
    make: (settings: EnvImportSettings) => envImport(settings),
  },
  configRender: {
    schema: settingsOf({
      ...selection,
      values: { type: 'object' },
      volumesAnnotation: text,
      valuesConfigMapAnnotation: text,
    }),
    make: (settings: ConfigRenderSettings, context) => configRender(settings, context),
  },
  imageAllowList: {
    schema: settingsOf({
      ...selection,
      digests: { type: 'array', items: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' } },
      images: texts,
      requireDigest: { type: 'boolean' },
    }),
    make: (settings: ImageAllowListSettings) => imageAllowList(settings),
  },
  podCertificates: {
    schema: settingsOf({
      ...selection,
      authority: settingsOf({ certFile: text, keyFile: text }, ['certFile', 'keyFile']),
      mountPath: { type: 'string', pattern: '^/' },
      validHours: { type: 'number', exclusiveMinimum: 0 },
    }),
    make: (settings: PodCertificatesSettings, context) => podCertificates(settings, context),
  },
  resourceFilter: {
    schema: settingsOf({ ...selection, remove: texts }, ['remove']),
    make: (settings: ResourceFilterSettings) => resourceFilter(settings),
  },
});

/** The names of the middleware that ship with podtender. */
export const shippedMiddleware: readonly string[] = Object.keys(shipped);

/**
 * Makes a middleware that ships with podtender from its settings.
 *
 * @param where the place of the settings in error messages, such as `middleware.yaml: middleware[0]`
 * @throws {AgentError} `invalid_argument` for an unknown name, or naming the setting that is wrong
 *
 * @example
 * const filter = makeShipped('resourceFilter', { remove: ['example.com/a'] }, { where: 'settings.yaml', context });
 */
export function makeShipped(
  name: string,
  settings: unknown,
  { where, context }: { readonly where: string; readonly context: MiddlewareContext },
): Middleware {
  const one = shipped[name];
  if (!one)
    throw new AgentError(
      'invalid_argument',
      `${where}.name: ${JSON.stringify(name)} is unknown; known are ${shippedMiddleware.join(', ')}`,
    );
  const ajv = new Ajv({ allErrors: false, allowUnionTypes: true });
  if (!ajv.validate(one.schema, settings))
    throw new AgentError('invalid_argument', `${where}.settings${faultOf(ajv.errors?.[0])}`);
  return one.make(settings as never, context);
}

function faultOf(error: ErrorObject | undefined): string {
  if (!error) return ': are invalid';
  const path = error.instancePath.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
  const params = error.params as { additionalProperty?: string; allowedValues?: readonly string[] };
  if (params.additionalProperty !== undefined) return `${path}.${params.additionalProperty}: is no setting`;
  const allowed = params.allowedValues ? `: ${params.allowedValues.join(', ')}` : '';
  return `${path}: ${error.message ?? 'is invalid'}${allowed}`;
}
