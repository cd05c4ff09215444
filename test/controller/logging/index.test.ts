import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/base/logger.ts';
import { controllerManagedBy, kinds, Manager } from '../../../src/controller/index.ts';
import { ControllerDriver, reconcileContext } from '../../../src/controller/controllertest/index.ts';
import { fromPino, pinoLogger, pinoOf } from '../../../src/controller/logging/index.ts';
import { TestEnvironment } from '../../../src/envtest/index.ts';

/** A stream of JSON lines, and what was written. */
function recorded() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { lines, stream: { write } };
}

describe('logging', () => {
  test('a pino logger that the manager got writes the lines of its controllers, with the fields of the reconcile', async () => {
    const { lines, stream } = recorded();
    const env = new TestEnvironment();
    const logger = fromPino(pino({ base: { service: 'my-cache' } }, stream));
    const manager = new Manager({ connection: await env.start(), logger });
    let id = '';
    const controller = controllerManagedBy(manager)
      .for(kinds.ConfigMap)
      .complete(({ name }, context) => {
        if (name !== 'web') return Promise.resolve();
        id = context.reconcileID;
        context.logger.info('by the logger', { step: 1 });
        pinoOf(context).warn({ step: 2 }, 'by pino');
        return Promise.resolve();
      });
    const driver = new ControllerDriver(manager, controller);
    await driver.start();
    await manager.client.create(kinds.ConfigMap, { metadata: { namespace: 'default', name: 'web' } });
    await driver.run();
    await driver.stop();
    await env.stop();
    const fields = {
      ...{ service: 'my-cache', controller: 'configmap', controllerKind: 'ConfigMap', reconcileID: id },
      ...{ namespace: 'default', name: 'web' },
    };
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(lines.filter(({ step }) => step !== undefined)).toMatchObject([
      { ...fields, level: 30, msg: 'by the logger', step: 1 },
      { ...fields, level: 40, msg: 'by pino', step: 2 },
    ]);
  });

  test('the level of the pino logger applies', () => {
    const { lines, stream } = recorded();
    const logger = fromPino(pino({ level: 'warn' }, stream)).with({ controller: 'a' });
    logger.info('no');
    logger.error('yes');
    expect(lines).toMatchObject([{ msg: 'yes', controller: 'a' }]);
  });

  test('pinoOf has the fields of a logger of pinoLogger, and the secrets stay redacted', () => {
    const { lines, stream } = recorded();
    pinoOf(pinoLogger('info', stream).with({ part: 'cache' })).info({ token: 'abc' }, 'read');
    expect(lines).toMatchObject([{ msg: 'read', part: 'cache', token: '[Redacted]' }]);
  });

  test('pinoOf of the context of a unit test writes nothing', () => {
    expect(pinoOf(reconcileContext()).isLevelEnabled('fatal')).toBe(false);
  });

  test('pinoOf says what to do about a logger that is not made of pino', () => {
    expect(() => pinoOf({ ...silentLogger })).toThrow(
      'pinoOf: the logger does not write with pino: give the manager one of fromPino or pinoLogger',
    );
  });
});
