import type { FakeClock } from '../../src/base/fake-clock.ts';
import { type FakeEci, startFakeEci } from '../../src/providers/eci/fake/index.ts';
import { EciProvider, type EciProviderOptions } from '../../src/providers/eci/index.ts';
import { PodNode } from './pod-node.ts';

/** A node on the fake ECI service, both on one fake clock: the provider's client calls the fake without sockets. */
export interface EciNodeBed {
  readonly node: PodNode;
  readonly eci: FakeEci;
  readonly clock: FakeClock;
  /** Everything that was logged. */
  readonly log: string[];
  /** The provider of the running agent. */
  readonly provider: () => EciProvider;
  /** Advances the time in steps of one second. */
  readonly advance: (seconds: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const keys = { accessKeyId: 'id-1', accessKeySecret: 'very-secret' };

/** Starts an agent on the fake service. */
export async function eciNodeBed(options: Partial<EciProviderOptions> = {}): Promise<EciNodeBed> {
  const started: { eci?: FakeEci } = {};
  let provider: EciProvider | undefined;
  const log: string[] = [];
  const write = (message: string, fields?: object): void =>
    void log.push(`${message} ${JSON.stringify(fields ?? {})}`);
  const logger = { debug: write, info: write, warn: write, error: write };
  const node = new PodNode(({ clock }) => {
    const { eci } = started;
    if (!eci) throw new Error('the double is started first');
    provider?.close();
    provider = new EciProvider({
      region: 'cn-hangzhou',
      endpoint: eci.url,
      ...(options.credentials ? {} : keys),
      securityGroup: 'sg-1',
      vSwitch: 'vsw-1',
      clusterName: 'test',
      nodeName: 'n',
      clock,
      logger: logger as never,
      fetch: eci.fetch,
      ...options,
    });
    return provider;
  });
  const eci = await startFakeEci({
    accessKeys: [keys, { ...keys, accessKeyId: 'sts', securityToken: 't-1' }],
    clock: node.clock,
  });
  started.eci = eci;
  const bed: EciNodeBed = {
    node,
    eci,
    clock: node.clock,
    log,
    provider: () => provider!,
    advance: async (seconds) => {
      for (let second = 0; second < seconds; second++) await node.clock.advance(1000);
    },
    stop: async () => {
      provider?.close();
      await node.stop();
      await eci.stop();
    },
  };
  await node.start();
  await bed.advance(2);
  return bed;
}
