import { type ApiClient, isAlreadyExists } from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import type { KubeObject } from '../../kube/types.ts';
import { kwokKinds } from './objects.ts';

const definitionResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** Returns the plural of a kind, as kwok names its resources. */
export const pluralOf = (kind: string): string => {
  const lower = kind.toLowerCase();
  return /(?:s|ch)$/.test(lower) && !lower.endsWith('logs')
    ? `${lower}es`
    : lower.endsWith('s')
      ? lower
      : `${lower}s`;
};

/** Whether objects of a kind have no namespace. */
export const isClusterScoped = (kind: string): boolean =>
  kind === 'Stage' || kind === 'Metric' || kind.startsWith('Cluster');

function definitionOf(kind: string): KubeObject {
  const plural = pluralOf(kind);
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.kwok.x-k8s.io` },
    spec: {
      group: 'kwok.x-k8s.io',
      scope: isClusterScoped(kind) ? 'Cluster' : 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
    },
  };
  return definition;
}

/** Defines the kinds of `kwok.x-k8s.io/v1alpha1` in a cluster; those that are there stay as they are. */
export async function defineKinds(client: ApiClient): Promise<void> {
  for (const kind of kwokKinds) {
    try {
      await client.create(definitionResource, definitionOf(kind), { timeoutMs: 10_000 });
    } catch (reason) {
      if (!isAlreadyExists(reason)) throw reason;
    }
  }
}
