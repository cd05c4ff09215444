import {
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
  valueAt,
  listAt,
  withMetadata,
} from '../../apimachinery/json.ts';
import { builtIn, type Kind } from '../../apimachinery/kinds.ts';
import { seconds } from '../../apimachinery/times.ts';
import { validateMetadata } from '../registry/metadata-rules.ts';
import { commonStrategy } from '../registry/strategies.ts';
import type { Strategy } from '../registry/strategy.ts';
import type { WriteContext } from '../request/write-context.ts';
import type { Store } from '../storage/store.ts';
import { withAcceptedNames } from './definition-names.ts';
import { formatWarnings } from './format-warnings.ts';
import { definitionFaults, definitionNameFaults, definitionUpdateFaults } from './definition-rules.ts';

export const definitionKind: Kind = builtIn('customresourcedefinitions', 'apiextensions.k8s.io');
const common = commonStrategy(definitionKind);

/** Held by every definition until its resources are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

/** Every definition but the one of this name. */
export const othersThan = (store: Store, name: string): readonly JsonObject[] =>
  [...store.list(definitionKind.storage)].filter(({ key }) => key !== name).map(({ object }) => object);

/** What is left out of a definition, filled in. */
function withDefaults(definition: JsonObject): JsonObject {
  const spec = objectAt(definition, 'spec');
  const names = objectAt(spec, 'names');
  const kind = stringAt(names, 'kind');
  const conversion = objectAt(spec, 'conversion');
  return {
    ...definition,
    spec: {
      ...spec,
      conversion: spec['conversion'] === undefined ? { strategy: 'None' } : withPort(conversion),
      names: {
        ...names,
        listKind: stringAt(names, 'listKind') || (kind && `${kind}List`),
        singular: stringAt(names, 'singular') || kind.toLowerCase(),
      },
    },
  };
}

/** The conversion with the port of its webhook's service. */
function withPort(conversion: JsonObject): JsonObject {
  const webhook = objectAt(conversion, 'webhook');
  const client = objectAt(webhook, 'clientConfig');
  if (client['service'] === undefined) return conversion;
  const service = { port: 443, ...objectAt(client, 'service') };
  return { ...conversion, webhook: { ...webhook, clientConfig: { ...client, service } } };
}

/** The definition whose status names the version that objects are stored in. */
function withStoredVersion(definition: JsonObject): JsonObject {
  const status = objectAt(definition, 'status');
  const stored = listAt(status, 'storedVersions');
  const version = objectsAt(objectAt(definition, 'spec'), 'versions').find((one) => one['storage'] === true);
  const name = stringAt(version, 'name');
  if (name === '' || stored.includes(name)) return definition;
  return { ...definition, status: { ...status, storedVersions: [...stored, name] } };
}

const settled = (definition: JsonObject, { world, now }: WriteContext): JsonObject =>
  withAcceptedNames(withStoredVersion(definition), othersThan(world.store, nameOf(definition)), now);

/** The definition on its way out: its resources go first. */
function terminating(definition: JsonObject, now: number): JsonObject {
  const metadata = objectAt(definition, 'metadata');
  const finalizers = listAt(metadata, 'finalizers');
  const status = objectAt(definition, 'status');
  const time = seconds(now);
  const condition = {
    lastTransitionTime: time,
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    reason: 'InstanceDeletionPending',
    status: 'True',
    type: 'Terminating',
  };
  const conditions = objectsAt(status, 'conditions').filter((one) => one['type'] !== 'Terminating');
  const marked = withMetadata(definition, {
    deletionTimestamp: time,
    finalizers: finalizers.includes(cleanupFinalizer) ? finalizers : [...finalizers, cleanupFinalizer],
  });
  return { ...marked, status: { ...status, conditions: [...conditions, condition] } };
}

/** The rules of CustomResourceDefinitions. */
export const definitionStrategy: Strategy = {
  ...common,
  defaults: withDefaults,
  prepareCreate: (definition, context) => settled(common.prepareCreate(definition, context), context),
  validatesMetadata: true,
  validateCreate: (definition) => [
    ...validateMetadata(definition, definitionKind, () => definitionNameFaults(definition)),
    ...definitionFaults(definition),
  ],
  warnings: (definition) => formatWarnings(definition),
  main: {
    ...common.main,
    warnings: formatWarnings,
    prepare: (definition, old, context) => settled(common.main.prepare(definition, old, context), context),
    validate: definitionUpdateFaults,
  },
  beginDelete: (definition, _options, context) =>
    valueAt(definition, 'metadata', 'deletionTimestamp') === undefined
      ? terminating(definition, context.now)
      : definition,
};
