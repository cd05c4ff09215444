import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
} from '../../../apimachinery/json.ts';
import { builtIn, type Kind } from '../../../apimachinery/kinds.ts';
import type { Entry, Store } from '../../storage/store.ts';

export type WebhookType = 'mutating' | 'validating';

/** Which requests a rule covers. */
export interface WebhookRule {
  readonly operations: readonly string[];
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly scope: string;
}

/** One webhook of a configuration, with the defaults of what is left out. */
export interface Webhook {
  /** Unique among all webhooks of its type. */
  readonly uid: string;
  readonly type: WebhookType;
  readonly configuration: string;
  readonly name: string;
  readonly clientConfig: JsonObject;
  readonly rules: readonly WebhookRule[];
  readonly matchesEquivalent: boolean;
  readonly namespaceSelector: JsonObject;
  readonly objectSelector: JsonObject;
  readonly matchConditions: readonly JsonObject[];
  readonly ignoresFailures: boolean;
  readonly reinvocable: boolean;
  /** Absent in the configuration: `''`. */
  readonly sideEffects: string;
  readonly timeoutSeconds: number;
  readonly reviewVersions: readonly string[];
}

const configurations: Readonly<Record<WebhookType, Kind>> = {
  mutating: builtIn('mutatingwebhookconfigurations', 'admissionregistration.k8s.io'),
  validating: builtIn('validatingwebhookconfigurations', 'admissionregistration.k8s.io'),
};

const textsAt = (value: JsonObject, key: string): readonly string[] =>
  listAt(value, key) as readonly string[];

/** Reads a rule of a webhook, or what a rule of a policy has in common with it. */
export const ruleOf = (rule: JsonObject): WebhookRule => ({
  operations: textsAt(rule, 'operations'),
  apiGroups: textsAt(rule, 'apiGroups'),
  apiVersions: textsAt(rule, 'apiVersions'),
  resources: textsAt(rule, 'resources'),
  scope: stringAt(rule, 'scope') || '*',
});

const webhookOf = (webhook: JsonObject, type: WebhookType, configuration: string, index: number): Webhook => {
  const name = stringAt(webhook, 'name');
  return {
    uid: `${configuration}/${name}/${index}`,
    type,
    configuration,
    name,
    clientConfig: objectAt(webhook, 'clientConfig'),
    rules: objectsAt(webhook, 'rules').map(ruleOf),
    matchesEquivalent: (stringAt(webhook, 'matchPolicy') || 'Equivalent') === 'Equivalent',
    namespaceSelector: objectAt(webhook, 'namespaceSelector'),
    objectSelector: objectAt(webhook, 'objectSelector'),
    matchConditions: objectsAt(webhook, 'matchConditions'),
    ignoresFailures: webhook['failurePolicy'] === 'Ignore',
    reinvocable: webhook['reinvocationPolicy'] === 'IfNeeded',
    sideEffects: stringAt(webhook, 'sideEffects'),
    timeoutSeconds: Number(webhook['timeoutSeconds'] ?? 10),
    reviewVersions: textsAt(webhook, 'admissionReviewVersions'),
  };
};

/** Webhooks of each stored configuration, read once. */
const webhooksOf = new WeakMap<Entry, readonly Webhook[]>();

function read(entry: Entry, type: WebhookType): readonly Webhook[] {
  let webhooks = webhooksOf.get(entry);
  if (!webhooks) {
    const configuration = nameOf(entry.object);
    webhooks = objectsAt(entry.object, 'webhooks').map((one, i) => webhookOf(one, type, configuration, i));
    webhooksOf.set(entry, webhooks);
  }
  return webhooks;
}

/** Returns the configured webhooks in the order of calls: by name of their configuration, then as listed there. */
export function webhooksIn(store: Store, type: WebhookType): readonly Webhook[] {
  const { storage } = configurations[type];
  if (store.count(storage) === 0) return [];
  return [...store.list(storage)].flatMap((entry) => read(entry, type));
}
