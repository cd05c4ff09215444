import { tableOf } from '../../base/own.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { defaultCpuPeriodMicros, sharesToWeight } from '../../kube/cgroup.ts';
import type { Programs } from '../../base/programs.ts';
import type { CgroupHost } from './host.ts';
import type { CgroupSettings } from './settings.ts';

/** A systemd unit property: its name, the D-Bus type of its value, and the value. */
export type UnitProperty = readonly [
  name: string,
  type: 'b' | 's' | 't' | 'as',
  ...value: [string, ...string[]],
];

/** SliceUnits registers cgroups with systemd as slice units. systemd resets a cgroup that it does not know when it creates one below it. */
export interface SliceUnits {
  /**
   * Starts a slice; succeeds when it exists.
   *
   * @throws {AgentError} `failed_precondition` with systemd's error
   */
  start(slice: string, parent: string): Promise<void>;
  /** Sets properties of a slice. @throws as {@link start} */
  set(slice: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Stops a slice with all processes in it; succeeds when it does not exist. @throws as {@link start} */
  stop(slice: string): Promise<void>;
}

type Version = CgroupHost['version'];

const unlimited = '18446744073709551615';
/** systemd rounds CPU quotas to hundredths of a CPU. */
const quotaStepMicros = 10_000;

const amount = (value: number): string => (value < 0 ? unlimited : String(value));

const names: Readonly<Record<Version, { readonly memory: string; readonly io: string }>> = {
  1: { memory: 'MemoryLimit', io: 'BlockIOAccounting' },
  2: { memory: 'MemoryMax', io: 'IOAccounting' },
};

const unifiedNames: Readonly<Record<string, string>> = tableOf({
  'memory.min': 'MemoryMin',
  'memory.low': 'MemoryLow',
  'memory.high': 'MemoryHigh',
});

/**
 * Returns the systemd properties for cgroup settings, without huge pages, which systemd does not support. Follows libcontainer's
 * `genV1ResourcesProperties` and `genV2ResourcesProperties`.
 */
export function unitProperties(settings: CgroupSettings, version: Version): readonly UnitProperty[] {
  const { memory = 0, cpuShares = 0, pids = 0, unified = {} } = settings;
  return [
    ...(memory !== 0 ? ([[names[version].memory, 't', amount(memory)]] as const) : []),
    ...(cpuShares !== 0 ? [weightProperty(cpuShares, version)] : []),
    ...quotaProperties(settings),
    ...(pids !== 0 ? ([['TasksMax', 't', amount(pids)]] as const) : []),
    ...Object.entries(version === 2 ? unified : {}).flatMap(([file, value]) => {
      const name = unifiedNames[file];
      return name === undefined ? [] : [[name, 't', value === 'max' ? unlimited : value] as const];
    }),
  ];
}

const weightProperty = (shares: number, version: Version): UnitProperty =>
  version === 2 ? ['CPUWeight', 't', String(sharesToWeight(shares))] : ['CPUShares', 't', String(shares)];

function quotaProperties({ cpuQuota = 0, cpuPeriod = 0 }: CgroupSettings): readonly UnitProperty[] {
  if (cpuQuota === 0 && cpuPeriod === 0) return [];
  const perSecond = Math.trunc((cpuQuota * 1_000_000) / (cpuPeriod || defaultCpuPeriodMicros));
  const rounded = Math.ceil(perSecond / quotaStepMicros) * quotaStepMicros;
  return [
    ...(cpuPeriod === 0 ? [] : [['CPUQuotaPeriodUSec', 't', String(cpuPeriod)] as const]),
    ['CPUQuotaPerSecUSec', 't', cpuQuota > 0 ? String(rounded) : unlimited],
  ];
}

const manager = [
  'org.freedesktop.systemd1',
  '/org/freedesktop/systemd1',
  'org.freedesktop.systemd1.Manager',
] as const;

/** SystemdUnits controls the machine's systemd through `busctl` and `systemctl`. */
export class SystemdUnits implements SliceUnits {
  readonly #programs: Pick<Programs, 'output'>;
  readonly #version: Version;

  constructor(programs: Pick<Programs, 'output'>, version: Version) {
    this.#programs = programs;
    this.#version = version;
  }

  async start(slice: string, parent: string): Promise<void> {
    const counted = ['MemoryAccounting', 'CPUAccounting', names[this.#version].io, 'TasksAccounting'];
    const properties = listed([
      ['Description', 's', `podtender slice ${slice}`],
      ['Wants', 'as', '1', parent],
      ...counted.map((name) => [name, 'b', 'true'] as const),
      ['DefaultDependencies', 'b', 'false'],
    ]);
    try {
      await this.#call('StartTransientUnit', 'ssa(sv)a(sa(sv))', slice, 'replace', ...properties, '0');
    } catch (reason) {
      if (!messageOf(reason).includes('already loaded')) throw reason;
    }
    await this.#run('systemctl', 'start', slice); // returns when it has started
  }

  async set(slice: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#call('SetUnitProperties', 'sba(sv)', slice, 'true', ...listed(properties));
  }

  async stop(slice: string): Promise<void> {
    try {
      await this.#run('systemctl', 'stop', slice);
    } catch (reason) {
      if (!messageOf(reason).includes('not loaded')) throw reason;
    }
  }

  #call(method: string, ...args: readonly string[]): Promise<void> {
    return this.#run('busctl', '--system', '--quiet', '--', 'call', ...manager, method, ...args);
  }

  async #run(program: string, ...args: readonly string[]): Promise<void> {
    try {
      await this.#programs.output(program, args);
    } catch (cause) {
      throw new AgentError('failed_precondition', messageOf(cause), { cause });
    }
  }
}

/** Formats an array of properties as busctl arguments. */
const listed = (properties: readonly UnitProperty[]): readonly string[] => [
  String(properties.length),
  ...properties.flat(),
];
