import { isNotFound } from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import type { FindResource } from './stage-writer.ts';

/** Calls of a path of the API server, as those of HttpApiClient. */
export interface RawCalls {
  raw(path: string, request: { readonly method: 'GET'; readonly timeoutMs: number }): Promise<unknown>;
}

interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

const requestMs = 10_000;

/** Returns what finds the resources of kinds by discovery. Those that were found are remembered; others are asked for again. */
export function resourceFinder(client: RawCalls): FindResource {
  const found = new Map<string, Resource>();
  return async (apiVersion, kind) => {
    const key = `${apiVersion} ${kind}`;
    const existing = found.get(key);
    if (existing) return existing;
    const resource = await discovered(client, apiVersion, kind);
    if (resource) found.set(key, resource);
    return resource;
  };
}

async function discovered(client: RawCalls, apiVersion: string, kind: string): Promise<Resource | undefined> {
  const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const path = group === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
  try {
    const { resources = [] } = (await client.raw(path, {
      method: 'GET',
      timeoutMs: requestMs,
    })) as ResourceList;
    const match = resources.find((one) => one.kind === kind && !one.name.includes('/'));
    if (!match || version === undefined) return undefined;
    return { group, version, resource: match.name, kind, namespaced: match.namespaced };
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
}
