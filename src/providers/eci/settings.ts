import { tableOf } from '../../base/own.ts';
import { AgentError } from '../../base/errors.ts';
import { credentialFromEnvironment, type EciCredentials } from './credentials.ts';
import type { SignatureAlgorithm } from './signature.ts';

/** What the node offers to pods. */
export interface EciQuota {
  /** Default `1000`. */
  readonly cpu?: string;
  /** Default `4Ti`. */
  readonly memory?: string;
  /** Default `1000`. */
  readonly pods?: string;
}

/** The settings of an account and of the groups that are made in it. */
export interface EciSettings {
  readonly region: string;
  /** Default `eci.REGION.aliyuncs.com`. */
  readonly endpoint?: string;
  readonly credentials: EciCredentials;
  readonly securityGroup: string;
  /** One, or several with commas between them, of different zones: the service tries them in order. */
  readonly vSwitch: string;
  /** Default `default`. */
  readonly clusterName?: string;
  readonly quota?: EciQuota;
  readonly zone?: string;
  readonly resourceGroup?: string;
  readonly ramRole?: string;
  /** `auto`: each pod gets a public address of its own. */
  readonly eip?: 'auto';
  /** The node's address and the port of its kubelet API, as they are shown in the Node. */
  readonly internalIp?: string;
  readonly daemonPort?: number;
  /** Between two status polls, ms; default 5 s. */
  readonly pollIntervalMs?: number;
  /** Calls of one action per second; default 20. */
  readonly callsPerSecond?: number;
  readonly signature?: SignatureAlgorithm;
  /** `sdk`: Alibaba's package; `builtin`: the shipped client; default `builtin`. */
  readonly client?: 'sdk' | 'builtin';
}

type Texts = Readonly<Record<string, string | undefined>>;

/** Names of settings in the reference provider's TOML file, in lower case, and the variable that has the same meaning. */
const fileNames: Readonly<Record<string, string>> = tableOf({
  region: 'ECI_REGION',
  clustername: 'ECI_CLUSTER_NAME',
  accesskey: 'ECI_ACCESS_KEY',
  secretkey: 'ECI_SECRET_KEY',
  securegroup: 'ECI_SECURITY_GROUP',
  securitygroup: 'ECI_SECURITY_GROUP',
  vswitch: 'ECI_VSWITCH',
  cpu: 'ECI_QUOTA_CPU',
  memory: 'ECI_QUOTA_MEMORY',
  pods: 'ECI_QUOTA_POD',
  resourcegroup: 'ECI_RESOURCE_GROUP',
  endpoint: 'ECI_ENDPOINT',
  zone: 'ECI_ZONE',
});

/** Names in that file without a meaning here: pods say themselves which system they need. */
const ignoredNames = new Set(['operatingsystem']);

/**
 * eciSettings reads the settings from environment variables and, below them, from the contents of a settings file (names as in the reference
 * provider's TOML file, in any case).
 *
 * @throws {AgentError} `invalid_argument` naming each variable that is missing or wrong, and what would be right
 */
export function eciSettings(environment: Texts, file: Readonly<Record<string, unknown>> = {}): EciSettings {
  const texts: Texts = { ...fromFile(file), ...withoutEmpty(environment) };
  const faults: string[] = [];
  const need = (name: string): string => {
    const text = texts[name] ?? '';
    if (text === '') faults.push(`${name} is not set`);
    return text;
  };
  const region = need('ECI_REGION').toLowerCase().replaceAll(' ', '');
  const securityGroup = need('ECI_SECURITY_GROUP');
  const vSwitch = need('ECI_VSWITCH');
  const credentials = credentialFromEnvironment(texts);
  if (!credentials)
    faults.push(
      'no credentials: set ECI_ACCESS_KEY and ECI_SECRET_KEY, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET',
    );
  const optional = optionalSettings(texts, faults);
  if (faults.length > 0 || !credentials)
    throw new AgentError('invalid_argument', `ECI settings: ${faults.join('; ')}`);
  return { region, credentials, securityGroup, vSwitch, ...optional };
}

function optionalSettings(texts: Texts, faults: string[]): Partial<EciSettings> {
  const number = (name: string): number | undefined => {
    const text = texts[name];
    if (text === undefined) return undefined;
    const value = Number(text);
    if (Number.isFinite(value) && value > 0) return value;
    faults.push(`${name} is "${text}"; it must be a positive number`);
    return undefined;
  };
  const oneOf = <T extends string>(name: string, values: readonly T[]): T | undefined => {
    const text = texts[name];
    const found = values.find((value) => value === text?.toLowerCase());
    if (text !== undefined && !found) faults.push(`${name} is "${text}"; it must be ${values.join(' or ')}`);
    return found;
  };
  const protocol = oneOf('ECI_PROTOCOL', ['http', 'https']);
  const endpoint = texts['ECI_ENDPOINT'];
  const seconds = number('ECI_POLL_INTERVAL');
  return withoutUndefined({
    clusterName: texts['ECI_CLUSTER_NAME'],
    endpoint:
      endpoint === undefined || protocol === undefined
        ? endpoint
        : `${protocol}://${endpoint.replace(/^https?:\/\//i, '')}`,
    quota: withoutUndefined({
      cpu: texts['ECI_QUOTA_CPU'],
      memory: texts['ECI_QUOTA_MEMORY'],
      pods: texts['ECI_QUOTA_POD'],
    }),
    zone: texts['ECI_ZONE'],
    resourceGroup: texts['ECI_RESOURCE_GROUP'],
    ramRole: texts['ECI_RAM_ROLE'],
    eip: oneOf('ECI_EIP', ['auto']),
    internalIp: texts['VKUBELET_POD_IP'],
    daemonPort: number('KUBELET_PORT'),
    pollIntervalMs: seconds === undefined ? undefined : seconds * 1000,
    callsPerSecond: number('ECI_MAX_QPS'),
    signature: oneOf('ECI_SIGNATURE', ['acs3', 'v1']),
    client: oneOf('ECI_CLIENT', ['sdk', 'builtin']),
  });
}

function fromFile(file: Readonly<Record<string, unknown>>): Texts {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(file)) {
    const lower = name.toLowerCase();
    if (ignoredNames.has(lower)) continue;
    const variable = Object.hasOwn(fileNames, lower) ? fileNames[lower] : undefined;
    if (variable === undefined)
      throw new AgentError(
        'invalid_argument',
        `ECI settings file: unknown setting "${name}"; there are: ${Object.keys(fileNames).join(', ')}`,
      );
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new AgentError('invalid_argument', `ECI settings file: "${name}" must be a text`);
    texts[variable] = String(value);
  }
  return texts;
}

const withoutEmpty = (texts: Texts): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined && text !== ''));

/** Drops members that are undefined. */
const withoutUndefined = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
