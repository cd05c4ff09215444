import type { PodSpec } from '../types.ts';
import { type Faults, invalid, invalidEach, required } from './field-error.ts';
import { dns1123Subdomain, dns1123SubdomainWithUnderscore } from './name-rules.ts';
import { ipAddress } from './shared.ts';

type DnsConfig = NonNullable<PodSpec['dnsConfig']>;

const mostNameservers = 3;
const mostSearches = 32;
const mostSearchCharacters = 2048;

/** Validates `dnsConfig`. */
export function* validateDnsConfig(field: string, config: DnsConfig | undefined, policy: string): Faults {
  if (policy === 'None') {
    if (!config) return yield required(field, 'must provide `dnsConfig` when `dnsPolicy` is None');
    if ((config.nameservers ?? []).length === 0)
      return yield required(
        `${field}.nameservers`,
        'must provide at least one DNS nameserver when `dnsPolicy` is None',
      );
  }
  if (config) yield* lists(field, config);
}

function* lists(field: string, { nameservers = [], searches = [], options = [] }: DnsConfig): Faults {
  if (nameservers.length > mostNameservers)
    yield invalid(
      `${field}.nameservers`,
      nameservers,
      `must not have more than ${mostNameservers} nameservers`,
    );
  for (const [i, server] of nameservers.entries()) yield* ipAddress(`${field}.nameservers[${i}]`, server);
  yield* searchFaults(`${field}.searches`, searches);
  for (const [i, option] of options.entries())
    if ((option.name ?? '') === '') yield required(`${field}.options[${i}]`, 'must not be empty');
}

function* searchFaults(field: string, searches: readonly string[]): Faults {
  if (searches.length > mostSearches)
    yield invalid(field, searches, `must not have more than ${mostSearches} search paths`);
  if (searches.join(' ').length > mostSearchCharacters)
    yield invalid(
      field,
      searches,
      `must not have more than ${mostSearchCharacters} characters (including spaces) in the search list`,
    );
  for (const [i, search] of searches.entries()) {
    const name = search.replace(/\.$/, '');
    if (search !== '.') yield* invalidEach(`${field}[${i}]`, name, dns1123SubdomainWithUnderscore(name));
  }
}

/** Validates `hostAliases`. */
export function* validateHostAliases(field: string, aliases: NonNullable<PodSpec['hostAliases']>): Faults {
  for (const [i, alias] of aliases.entries()) {
    const { ip = '', hostnames = [] } = alias as Partial<typeof alias>;
    yield* ipAddress(`${field}[${i}].ip`, ip);
    for (const [j, name] of hostnames.entries())
      yield* invalidEach(`${field}[${i}].hostnames[${j}]`, name, dns1123Subdomain(name));
  }
}
