import { expect, test } from 'vitest';
import { silentLogger } from '../../src/base/logger.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Lease } from '../../src/kube/types.ts';
import type { LeaseClient } from '../../src/node/clients.ts';
import {
  defaultPingInterval,
  defaultStatusUpdateInterval,
  type NodeControllerOpt,
  type NodeControllerSettings,
  withNodeDisableLease,
  withNodeEnableLeaseV1,
  withNodeEnableLeaseV1WithRenewInterval,
  withNodeLease,
  withNodePingInterval,
} from '../../src/vkubelet/index.ts';

const leases: LeaseClient = {
  get: () => Promise.reject(new Error('not called')),
  create: () => Promise.reject(new Error('not called')),
  update: () => Promise.reject(new Error('not called')),
};

function settingsOf(...options: readonly NodeControllerOpt[]): NodeControllerSettings {
  const settings: NodeControllerSettings = {
    pingIntervalMs: defaultPingInterval,
    statusIntervalMs: defaultStatusUpdateInterval,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  };
  for (const option of options) option(settings);
  return settings;
}

test('a lease lasts 40 s and is renewed each 10 s unless said otherwise', () => {
  for (const option of [withNodeLease(leases), withNodeLease(leases, {}), withNodeEnableLeaseV1(leases)])
    expect(settingsOf(option).lease).toEqual({
      client: leases,
      durationSeconds: 40,
      renewIntervalMs: 10_000,
    });
});

test('withNodeLease takes the duration of the base lease', () => {
  const base: Lease = { spec: { leaseDurationSeconds: 60 } };
  expect(settingsOf(withNodeLease(leases, base)).lease).toMatchObject({
    durationSeconds: 60,
    renewIntervalMs: 15_000,
  });
});

test('withNodeDisableLease takes back a lease; of no effect when it is false', () => {
  expect(settingsOf(withNodeLease(leases), withNodeDisableLease()).lease).toBeUndefined();
  expect(settingsOf(withNodeLease(leases), withNodeDisableLease(false)).lease).toBeDefined();
});

test('two leases are refused, and so is an interval that is not within the duration', () => {
  expect(() => settingsOf(withNodeLease(leases), withNodeEnableLeaseV1(leases))).toThrow(
    'Multiple, conflicting lease configurations',
  );
  for (const ms of [0, -1, 20_000])
    expect(() => settingsOf(withNodeEnableLeaseV1WithRenewInterval(leases, 20, ms))).toThrow(
      `the lease of 20 s is renewed each ${ms} ms`,
    );
});

test('of two options that set the same the last one wins', () => {
  const settings = settingsOf(withNodePingInterval(1), withNodePingInterval(2));
  expect(settings.pingIntervalMs).toBe(2);
});
