import { ApiError } from '../../api/client.ts';
import { kinds } from '../kinds.ts';
import { cloneJson } from '../json-value.ts';
import type { Client, Kind, KubeObject } from '../types.ts';

/** What webhooks' authorities are written into. */
export interface InjectionTargets {
  /** Names of ValidatingWebhookConfigurations. */
  readonly validatingWebhooks?: readonly string[];
  /** Names of MutatingWebhookConfigurations. */
  readonly mutatingWebhooks?: readonly string[];
  /** Names of CustomResourceDefinitions with a conversion webhook, such as `crontabs.example.com`. */
  readonly crds?: readonly string[];
}

interface ClientConfig {
  caBundle?: string;
}
interface WebhookConfiguration extends KubeObject {
  webhooks?: { clientConfig?: ClientConfig }[];
}
interface Definition extends KubeObject {
  spec?: { conversion?: { strategy?: string; webhook?: { clientConfig?: ClientConfig } } };
}

const configsOf = (object: WebhookConfiguration & Definition): ClientConfig[] => [
  ...(object.webhooks ?? []).flatMap(({ clientConfig }) => (clientConfig ? [clientConfig] : [])),
  ...(object.spec?.conversion?.webhook?.clientConfig ? [object.spec.conversion.webhook.clientConfig] : []),
];

const statusOf = (reason: unknown): number => (reason instanceof ApiError ? reason.status : 0);
const attempts = 5;

/** Writes the authorities into one object. Resolves to false when it is missing, or has no webhook. @throws {ApiError} */
async function inject(client: Client, kind: Kind, name: string, caBundle: string): Promise<boolean> {
  for (let left = attempts; ; left--) {
    try {
      const object = cloneJson(await client.get(kind, { name })) as WebhookConfiguration & Definition;
      const configs = configsOf(object);
      if (configs.length === 0) return false;
      if (configs.every((config) => config.caBundle === caBundle)) return true;
      for (const config of configs) config.caBundle = caBundle;
      await client.update(kind, object);
      return true;
    } catch (reason) {
      if (statusOf(reason) === 404) return false;
      if (statusOf(reason) !== 409 || left === 0) throw reason;
    }
  }
}

/**
 * Writes the authorities of webhooks into all targets, and returns those that are not there yet.
 *
 * @param ca PEM
 * @throws {ApiError}
 */
export async function injectAuthorities(
  client: Client,
  { validatingWebhooks = [], mutatingWebhooks = [], crds = [] }: InjectionTargets,
  ca: string,
): Promise<readonly string[]> {
  const caBundle = Buffer.from(ca).toString('base64');
  const missing: string[] = [];
  const targets: readonly (readonly [Kind, readonly string[]])[] = [
    [kinds.ValidatingWebhookConfiguration, validatingWebhooks],
    [kinds.MutatingWebhookConfiguration, mutatingWebhooks],
    [kinds.CustomResourceDefinition, crds],
  ];
  for (const [kind, names] of targets)
    for (const name of names)
      if (!(await inject(client, kind, name, caBundle))) missing.push(`${kind.kind} ${name}`);
  return missing;
}
