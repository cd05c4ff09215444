import type { KubeList, KubeObject } from '../../kube/types.ts';
import type { ApiClient, ListOptions } from '../client.ts';
import type { Resource } from '../resources.ts';
import { unreachable } from '../rest/transport.ts';
import { checkCount, isExpired } from './watch-session.ts';

/** Parameters of a paged list besides its first request. */
export interface ListAll<T> {
  readonly options: ListOptions;
  readonly transform: (object: T) => T;
}

/** Maximum number of pages of a list, including empty ones. */
const mostPages = 10_000;

/**
 * Reads a list page by page and joins the pages. When the first page's version expires meanwhile, reads everything again in one piece, so
 * the result is always one consistent state (client-go `pager`, `FullListIfExpired`).
 */
export async function listAll<T extends KubeObject>(
  client: ApiClient,
  resource: Resource,
  request: ListAll<T>,
): Promise<{ items: T[]; resourceVersion: string }> {
  const { options, transform } = request;
  const { resourceVersion: _first, ...rest } = options;
  const items: T[] = [];
  let page = await client.list<T>(resource, options);
  let resourceVersion = versionOf(page);
  for (let pages = 1; pages <= mostPages; pages++) {
    checkCount(items.length + page.items.length, resource);
    for (const item of page.items) items.push(transform(named(item, page, resource)));
    const token = page.metadata?.continue;
    if (token === undefined || token === '') return { items, resourceVersion };
    try {
      page = await client.list<T>(resource, { ...rest, continue: token });
    } catch (reason) {
      if (!isExpired(reason)) throw reason;
      page = await client.list<T>(resource, { ...rest, limit: 0 });
      items.length = 0;
    }
    resourceVersion = versionOf(page);
  }
  throw unreachable(`the list of ${resource.resource} has more than ${mostPages} pages; it was cut`);
}

const versionOf = (page: KubeList<KubeObject>): string => page.metadata?.resourceVersion ?? '';

/** Sets kind and version, which items of a list lack and all other objects in the agent have. */
function named<T extends KubeObject>(item: T, page: KubeList<T>, resource: Resource): T {
  if (item.kind !== undefined) return item;
  const group = resource.group === '' ? '' : `${resource.group}/`;
  return { kind: resource.kind, apiVersion: page.apiVersion ?? `${group}${resource.version}`, ...item };
}
