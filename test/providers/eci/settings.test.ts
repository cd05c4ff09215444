import { describe, expect, test } from 'vitest';
import { classOf, errorOfAnswer } from '../../../src/providers/eci/errors.ts';
import { eciNode } from '../../../src/providers/eci/node.ts';
import { eciSettings } from '../../../src/providers/eci/settings.ts';

const whole = {
  ECI_REGION: 'cn-hangzhou',
  ECI_ACCESS_KEY: 'id',
  ECI_SECRET_KEY: 'secret',
  ECI_SECURITY_GROUP: 'sg-1',
  ECI_VSWITCH: 'vsw-1',
};

describe('settings', () => {
  test("the reference provider's variables", () => {
    const settings = eciSettings({
      ...whole,
      ECI_CLUSTER_NAME: 'prod',
      ECI_QUOTA_CPU: '20',
      ECI_QUOTA_MEMORY: '64Gi',
      ECI_QUOTA_POD: '50',
      VKUBELET_POD_IP: '192.0.2.7',
      KUBELET_PORT: '10255',
      ECI_ENDPOINT: '127.0.0.1:9',
      ECI_PROTOCOL: 'http',
      ECI_POLL_INTERVAL: '2',
    });
    expect(settings).toMatchObject({
      region: 'cn-hangzhou',
      clusterName: 'prod',
      quota: { cpu: '20', memory: '64Gi', pods: '50' },
      internalIp: '192.0.2.7',
      daemonPort: 10255,
      endpoint: 'http://127.0.0.1:9',
      pollIntervalMs: 2000,
      credentials: { accessKeyId: 'id', accessKeySecret: 'secret' },
    });
  });

  test("any region will do, Alibaba's own variables too, with a token", () => {
    const { ECI_ACCESS_KEY: _id, ECI_SECRET_KEY: _secret, ...rest } = whole;
    const settings = eciSettings({
      ...rest,
      ECI_REGION: 'me-central-1',
      ALIBABA_CLOUD_ACCESS_KEY_ID: 'a',
      ALIBABA_CLOUD_ACCESS_KEY_SECRET: 'b',
      ALIBABA_CLOUD_SECURITY_TOKEN: 't',
    });
    expect(settings.region).toBe('me-central-1');
    expect(settings.credentials).toEqual({ accessKeyId: 'a', accessKeySecret: 'b', securityToken: 't' });
  });

  test('the settings file, below the environment; its names in any case', () => {
    const file = {
      Region: 'cn-beijing',
      CPU: 8,
      Memory: '16Gi',
      Pods: '20',
      VSwitch: 'vsw-9',
      SecureGroup: 'sg-9',
      OperatingSystem: 'Linux',
    };
    const settings = eciSettings({ ECI_ACCESS_KEY: 'id', ECI_SECRET_KEY: 's', ECI_VSWITCH: 'vsw-env' }, file);
    expect(settings).toMatchObject({
      region: 'cn-beijing',
      vSwitch: 'vsw-env',
      securityGroup: 'sg-9',
      quota: { cpu: '8', pods: '20' },
    });
    expect(() => eciSettings(whole, { Reigon: 'x' })).toThrow('unknown setting "Reigon"');
  });

  test('all that is missing or wrong is named at once, and no secret', () => {
    const fault = (): unknown =>
      eciSettings({
        ECI_ACCESS_KEY: 'id',
        ECI_SECRET_KEY: 'top-secret',
        ECI_MAX_QPS: 'many',
        ECI_SIGNATURE: 'md5',
      });
    expect(fault).toThrow(
      'ECI settings: ECI_REGION is not set; ECI_SECURITY_GROUP is not set; ECI_VSWITCH is not set; ECI_MAX_QPS is "many"; it must be a positive number; ECI_SIGNATURE is "md5"; it must be acs3 or v1',
    );
    expect(fault).not.toThrow(/top-secret/);
    expect(() => eciSettings({ ...whole, ECI_SECRET_KEY: '' })).toThrow(
      'ECI_SECRET_KEY is not set although ECI_ACCESS_KEY is',
    );
  });

  test("the node has virtual-kubelet's labels and taint, and the quota", () => {
    const node = eciNode('eci-1', { ...eciSettings(whole), quota: { pods: '7' } });
    expect(node.labels).toMatchObject({
      type: 'virtual-kubelet',
      'kubernetes.io/hostname': 'eci-1',
      'topology.kubernetes.io/region': 'cn-hangzhou',
    });
    expect(node.taints).toEqual([
      { key: 'virtual-kubelet.io/provider', value: 'alibabacloud', effect: 'NoSchedule' },
    ]);
    expect(node.capacity).toMatchObject({ cpu: '1000', memory: '4Ti', pods: '7' });
  });
});

describe('errors of the service', () => {
  test.each([
    ['Throttling', 400, 'transient'],
    ['Throttling.User', 429, 'transient'],
    ['ServiceUnavailable', 503, 'transient'],
    ['Unknown.Thing', 500, 'transient'],
    ['OperationDenied.NoStock', 403, 'capacity'],
    ['QuotaExceeded.Cpu', 403, 'capacity'],
    ['InvalidAccessKeyId.NotFound', 404, 'auth'],
    ['SignatureDoesNotMatch', 400, 'auth'],
    ['Forbidden.RAM', 403, 'auth'],
    ['InvalidSecurityToken.Expired', 400, 'auth'],
    ['InvalidContainerGroupId.NotFound', 404, 'not_found'],
    ['InvalidVSwitchId.NotFound', 404, 'permanent'],
    ['InvalidParameter.Image', 400, 'permanent'],
    ['IdempotentParameterMismatch', 400, 'permanent'],
  ] as const)('%s (%i) is %s', (code, status, expected) => {
    expect(classOf(code, status)).toBe(expected);
  });

  test('a body that is none is described by its status', () => {
    expect(errorOfAnswer(502, undefined)).toMatchObject({
      class: 'transient',
      eciCode: 'ServiceUnavailable',
    });
    expect(errorOfAnswer(418, 'x').message).toContain('HTTP418');
    expect(errorOfAnswer(429, { Code: 'Throttling', Message: 'slow' }, '2').retryAfterMs).toBe(2000);
  });
});
