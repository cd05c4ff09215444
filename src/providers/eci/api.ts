/** A parameter of an action. Lists are flattened with 1-based numbers, objects with their field names. */
export type EciValue =
  string | number | boolean | undefined | readonly EciValue[] | { readonly [field: string]: EciValue };

/** Parameters of an action by their API names, e.g. `{ RegionId: 'cn-hangzhou', Tag: [{ Key: 'UID', Value: '…' }] }`. */
export type EciParameters = Readonly<Record<string, EciValue>>;

/** The JSON body of an answer. */
export type EciAnswer = Readonly<Record<string, unknown>>;

/** The actions of ECI's API, version 2018-08-08, that the provider calls. */
export type EciAction =
  | 'CreateContainerGroup'
  | 'DeleteContainerGroup'
  | 'DescribeContainerGroups'
  | 'DescribeContainerGroupStatus'
  | 'DescribeContainerGroupEvents'
  | 'DescribeContainerLog'
  | 'DescribeMultiContainerGroupMetric'
  | 'DescribeRegions'
  | 'ExecContainerCommand'
  | 'ListUsage'
  | 'RestartContainerGroup'
  | 'UpdateContainerGroup';

/**
 * EciApi sends one signed request and returns the answer's body. It neither retries nor limits the rate: `EciCalls` does both.
 *
 * Two implementations are shipped: `BuiltinEciApi` and `SdkEciApi`, which wraps Alibaba's own package.
 */
export interface EciApi {
  /** @throws {EciError} what the service or the network answered */
  call(action: EciAction, parameters: EciParameters, signal: AbortSignal): Promise<EciAnswer>;
}

/** The API's version, sent with each request. */
export const eciVersion = '2018-08-08';

/**
 * flatten turns nested parameters into the query parameters of the service's RPC style: `Container.1.EnvironmentVar.2.Key=…`.
 * Undefined values are left out.
 */
export function flatten(parameters: EciParameters): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) add(query, name, value);
  return query;
}

function add(query: Record<string, string>, name: string, value: EciValue): void {
  if (value === undefined) return;
  if (typeof value !== 'object') {
    query[name] = String(value);
    return;
  }
  const entries = Array.isArray(value)
    ? value.map((item: EciValue, index): [string, EciValue] => [String(index + 1), item])
    : Object.entries(value as Readonly<Record<string, EciValue>>);
  for (const [part, item] of entries) add(query, `${name}.${part}`, item);
}
