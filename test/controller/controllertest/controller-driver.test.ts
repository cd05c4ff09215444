import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  AuditLog,
  ControllerDriver,
  FakeClock,
  type Step,
} from '../../../src/controller/controllertest/index.ts';
import {
  controllerManagedBy,
  createOrUpdate,
  enqueueRequestsFromMapFunc,
  ignoreNotFound,
  kinds,
  Manager,
  type Reconciler,
  type Request,
  setControllerReference,
} from '../../../src/controller/index.ts';
import { TestEnvironment } from '../../../src/envtest/index.ts';
import { configMap } from '../support.ts';

let env: TestEnvironment;
let drivers: ControllerDriver[] = [];
beforeEach(async () => {
  env = new TestEnvironment();
  await env.start();
});
afterEach(async () => {
  for (const driver of drivers) await driver.stop().catch(() => undefined);
  drivers = [];
  await env.stop();
});

const connection = () => {
  const { url, ca, admin } = env.server;
  return { server: url, ca, cert: admin.cert, key: admin.key };
};

/** A driven controller of config maps in `default`. */
async function driven(
  reconcile: (request: Request, manager: Manager) => ReturnType<Reconciler['reconcile']>,
) {
  const clock = new FakeClock(1_000_000);
  const manager = new Manager({ connection: connection(), controller: { clock } });
  const controller = controllerManagedBy(manager)
    .for(kinds.ConfigMap)
    .owns(kinds.Secret)
    .complete((request) => reconcile(request, manager));
  const driver = new ControllerDriver(manager, controller);
  drivers.push(driver);
  await driver.start();
  await driver.run();
  return { clock, manager, controller, driver, client: manager.client };
}

const shape = ({ request, causes, result, error }: Step) => ({
  name: request.name,
  causes: causes.map(({ type }) => type),
  ...(result && { result }),
  ...(error !== undefined && { error: (error as Error).message }),
});

describe('ControllerDriver', () => {
  test('1 nothing is reconciled before a step, and a step reconciles one request with what was written before', async () => {
    const seen: string[] = [];
    const { driver, client } = await driven(async ({ name }) => void seen.push(name));
    await client.create(kinds.ConfigMap, configMap('a'));
    await client.create(kinds.ConfigMap, configMap('b'));
    seen.length = 0;
    expect(shape((await driver.step())!)).toEqual({ name: 'a', causes: ['create'], result: {} });
    expect(seen).toEqual(['a']);
    expect(driver.due.map(({ request }) => request.name)).toEqual(['b']);
    expect(shape((await driver.step())!)).toMatchObject({ name: 'b' });
    expect(await driver.step()).toBeUndefined();
  });

  test('2 requeueAfter waits for the clock', async () => {
    const { driver, client, clock } = await driven(async ({ name }) =>
      name === 'later' ? { requeueAfter: 60_000 } : undefined,
    );
    await client.create(kinds.ConfigMap, configMap('later'));
    expect((await driver.run()).map(shape)).toEqual([
      { name: 'later', causes: ['create'], result: { requeueAfter: 60_000 } },
    ]);
    expect(driver.delayed).toMatchObject([{ request: { name: 'later' }, dueIn: 60_000 }]);
    await clock.advance(59_999);
    expect(await driver.run()).toEqual([]);
    await clock.advance(1);
    expect((await driver.run()).map(shape)).toMatchObject([{ name: 'later', causes: ['requeue'] }]);
  });

  test('3 an error is in the step, and its retry waits for the back-off', async () => {
    let failures = 2;
    const { driver, client, clock } = await driven(async ({ name }) => {
      if (name === 'bad' && failures-- > 0) throw new Error('not yet');
    });
    await client.create(kinds.ConfigMap, configMap('bad'));
    expect((await driver.run()).map(shape)).toEqual([{ name: 'bad', causes: ['create'], error: 'not yet' }]);
    expect(driver.delayed[0]?.dueIn).toBe(5);
    await clock.advance(5);
    expect((await driver.run()).map(shape)).toEqual([{ name: 'bad', causes: ['retry'], error: 'not yet' }]);
    expect(driver.delayed[0]?.dueIn).toBe(10);
    await clock.advance(10);
    expect((await driver.run()).map(shape)).toEqual([{ name: 'bad', causes: ['retry'], result: {} }]);
  });

  test('4 the events of what a reconcile writes are there at the next step', async () => {
    const { driver, client } = await driven(async (request, manager) => {
      const owner = await manager.client.get(kinds.ConfigMap, request).catch(ignoreNotFound);
      if (!owner || request.name !== 'owner') return;
      await createOrUpdate(manager.client, kinds.Secret, { metadata: request }, (secret) => {
        setControllerReference(owner, secret, kinds.ConfigMap);
      });
    });
    const log = new AuditLog(env, { resources: ['secrets'] });
    await client.create(kinds.ConfigMap, configMap('owner'));
    const steps = await driver.run();
    expect(steps.map(shape)).toMatchObject([
      { name: 'owner', causes: ['create'] },
      { name: 'owner', causes: ['create'] },
    ]);
    expect(steps[1]?.causes[0]?.object?.kind).toBe('Secret');
    log.assertWrites(['create secrets default/owner']);
  });

  test('5 a controller that causes its own events is found out', async () => {
    const { driver, client } = await driven(async (request, { client: writer }) => {
      if (request.name !== 'loop') return;
      const now = await writer.get(kinds.ConfigMap, request);
      await writer.update(kinds.ConfigMap, { ...now, data: { at: now.metadata?.resourceVersion ?? '' } });
    });
    await client.create(kinds.ConfigMap, configMap('loop'));
    await expect(driver.run({ max: 5 })).rejects.toThrow(
      'have not come to rest after 5 steps; the last was configmap of default/loop, by update (kind source: v1, Kind=ConfigMap)',
    );
  });

  test('6 a handler that waits has finished before the step', async () => {
    const manager = new Manager({ connection: connection() });
    const controller = controllerManagedBy(manager)
      .named('mapped')
      .watches(
        kinds.ConfigMap,
        enqueueRequestsFromMapFunc(async ({ metadata }) => {
          await manager.apiReader.list(kinds.Namespace);
          return metadata?.name === 'mapped' ? [{ namespace: '', name: 'found' }] : [];
        }),
      )
      .complete(async () => undefined);
    const driver = new ControllerDriver(manager, controller);
    drivers.push(driver);
    await driver.start();
    await manager.client.create(kinds.ConfigMap, configMap('mapped'));
    expect((await driver.run()).map(shape)).toMatchObject([{ name: 'found' }]);
  });

  test('7 misuse is refused', async () => {
    const manager = new Manager({ connection: connection() });
    expect(() => new ControllerDriver(manager)).toThrow('name the controllers that are to be driven');
    const { controller, driver } = await driven(async () => undefined);
    await expect(driver.start()).rejects.toThrow('the driver was started before');
    expect(() => new ControllerDriver(manager, controller)).toThrow('can be driven from its start only');
    const idle = new ControllerDriver(
      manager,
      controllerManagedBy(manager)
        .for(kinds.Pod)
        .complete(async () => undefined),
    );
    await expect(idle.step()).rejects.toThrow('the driver does not run: call start() first');
  });
});

describe('AuditLog', () => {
  test('1 lines name verb, resource with group, subresource, object and refusal', async () => {
    const manager = new Manager({ connection: connection() });
    const log = new AuditLog(env);
    const { apiReader, client } = manager;
    const one = await client.create(kinds.ConfigMap, configMap('one'), { dryRun: true });
    await client.create(kinds.ConfigMap, configMap('one'));
    await client
      .update(kinds.ConfigMap, { ...one, metadata: { ...one.metadata, resourceVersion: '1' } })
      .catch(() => undefined);
    await client.status
      .patch(
        kinds.Deployment,
        { metadata: { namespace: 'default', name: 'gone' } },
        { type: 'merge', data: () => ({}) },
      )
      .catch(() => undefined);
    await apiReader.list(kinds.ConfigMap, { namespace: 'default' });
    expect(log.writes).toEqual([
      'create configmaps default/one (dry run)',
      'create configmaps default/one',
      'update configmaps default/one 409',
      'patch deployments.apps/status default/gone 404',
    ]);
    expect(log.reads).toEqual(['list configmaps default']);
    expect(() => {
      log.assertNoWrites();
    }).toThrow('create configmaps default/one');
    log.clear();
    log.assertNoWrites();
  });

  test('2 only the requests of a user and of some resources', async () => {
    const bob = new Manager({ connection: await env.addUser({ name: 'bob', groups: ['system:masters'] }) });
    const log = new AuditLog(env, { user: 'bob', resources: ['configmaps', 'deployments.apps'] });
    await bob.client.create(kinds.ConfigMap, configMap('bobs'));
    await bob.client.create(kinds.Namespace, { metadata: { name: 'bob' } });
    await new Manager({ connection: connection() }).client.create(kinds.ConfigMap, configMap('other'));
    log.assertWrites(['create configmaps default/bobs']);
  });
});
