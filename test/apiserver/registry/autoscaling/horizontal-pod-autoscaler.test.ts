import {
  scalerStrategy,
  scalerV1Strategy,
} from '../../../../src/apiserver/registry/autoscaling/horizontal-pod-autoscaler.ts';
import { testKind } from '../one-kind.ts';

testKind(scalerStrategy, {
  created: [
    [
      { spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 3 } },
      {
        spec: {
          minReplicas: 1,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'Resource',
              resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
            },
          ],
        },
        status: { currentMetrics: null, desiredReplicas: 0 },
      },
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'Resource',
              resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
            },
            {
              type: 'Pods',
              pods: {
                metric: { name: 'a', selector: { matchLabels: { a: 'b' } } },
                target: { type: 'AverageValue', averageValue: '2' },
              },
            },
            {
              type: 'Object',
              object: {
                describedObject: { kind: 'Service', name: 's', apiVersion: 'v1' },
                metric: { name: 'q' },
                target: { type: 'Value', value: '5' },
              },
            },
            {
              type: 'External',
              external: { metric: { name: 'e' }, target: { type: 'AverageValue', averageValue: '7' } },
            },
            {
              type: 'ContainerResource',
              containerResource: {
                name: 'cpu',
                container: 'c',
                target: { type: 'Utilization', averageUtilization: 50 },
              },
            },
            {
              type: 'Resource',
              resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
            },
          ],
          behavior: { scaleUp: { stabilizationWindowSeconds: 3 } },
        },
      },
      {
        spec: {
          minReplicas: 1,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'Resource',
              resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
            },
            {
              type: 'Pods',
              pods: {
                metric: { name: 'a', selector: { matchLabels: { a: 'b' } } },
                target: { type: 'AverageValue', averageValue: '2' },
              },
            },
            {
              type: 'Object',
              object: {
                describedObject: { kind: 'Service', name: 's', apiVersion: 'v1' },
                metric: { name: 'q' },
                target: { type: 'Value', value: '5' },
              },
            },
            {
              type: 'External',
              external: { metric: { name: 'e' }, target: { type: 'AverageValue', averageValue: '7' } },
            },
            {
              type: 'ContainerResource',
              containerResource: {
                name: 'cpu',
                container: 'c',
                target: { type: 'Utilization', averageUtilization: 50 },
              },
            },
            {
              type: 'Resource',
              resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
            },
          ],
          behavior: {
            scaleUp: {
              stabilizationWindowSeconds: 3,
              selectPolicy: 'Max',
              policies: [
                { type: 'Pods', value: 4, periodSeconds: 15 },
                { type: 'Percent', value: 100, periodSeconds: 15 },
              ],
            },
            scaleDown: {
              selectPolicy: 'Max',
              policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
            },
          },
        },
        status: { currentMetrics: null, desiredReplicas: 0 },
      },
    ],
    [
      {
        spec: {
          scaleTargetRef: { kind: 'ReplicationController', name: 'c', apiVersion: 'v1' },
          maxReplicas: 3,
        },
      },
      {
        spec: {
          minReplicas: 1,
          scaleTargetRef: { kind: 'ReplicationController', name: 'c', apiVersion: 'v1' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'Resource',
              resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
            },
          ],
        },
        status: { currentMetrics: null, desiredReplicas: 0 },
      },
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          behavior: {},
        },
      },
      {
        spec: {
          minReplicas: 1,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          behavior: {
            scaleUp: {
              stabilizationWindowSeconds: 0,
              selectPolicy: 'Max',
              policies: [
                { type: 'Pods', value: 4, periodSeconds: 15 },
                { type: 'Percent', value: 100, periodSeconds: 15 },
              ],
            },
            scaleDown: {
              selectPolicy: 'Max',
              policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
            },
          },
          metrics: [
            {
              type: 'Resource',
              resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
            },
          ],
        },
        status: { currentMetrics: null, desiredReplicas: 0 },
      },
    ],
  ],
  rejected: [
    [
      { spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 0 } },
      [
        'spec.maxReplicas: Required value: must be set and greater than 0',
        'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: -1,
          minReplicas: 0,
        },
      },
      [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        'spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1',
        'spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`',
        'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          minReplicas: 5,
        },
      },
      ['spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`'],
    ],
    [
      { spec: { scaleTargetRef: {}, maxReplicas: 3 } },
      [
        'spec.scaleTargetRef.kind: Required value',
        'spec.scaleTargetRef.name: Required value',
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
      ],
    ],
    [
      { spec: { scaleTargetRef: { kind: 'a/b', name: 'c%', apiVersion: 'a/b/c' }, maxReplicas: 3 } },
      [
        'spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain \'/\'',
        'spec.scaleTargetRef.name: Invalid value: "c%": may not contain \'%\'',
        'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      ],
    ],
    [
      { spec: { scaleTargetRef: { kind: 'Deployment', name: 'c', apiVersion: 'v1' }, maxReplicas: 3 } },
      ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [{}],
        },
      },
      [
        'spec.metrics[0].type: Required value: must specify a metric source type',
        'spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
        'spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [{ type: 'X' }],
        },
      },
      [
        'spec.metrics[0].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
        'spec.metrics[0].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [{ type: 'Resource' }],
        },
      },
      ['spec.metrics[0].resource: Required value: must populate information for the given metric source'],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [{ type: 'Resource', pods: {}, resource: { name: '', target: {} } }],
        },
      },
      [
        'spec.metrics[0].pods.metric.name: Required value: must specify a metric name',
        'spec.metrics[0].pods.target.type: Required value: must specify a metric target type',
        'spec.metrics[0].pods.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
        'spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue',
        'spec.metrics[0].pods: Forbidden: must populate the given metric source only',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'Object',
              object: { describedObject: {}, metric: {}, target: { type: 'x', value: '-1' } },
            },
          ],
        },
      },
      [
        'spec.metrics[0].object.describedObject.kind: Required value',
        'spec.metrics[0].object.describedObject.name: Required value',
        'spec.metrics[0].object.metric.name: Required value: must specify a metric name',
        'spec.metrics[0].object.target.type: Invalid value: "x": must be either Utilization, Value, or AverageValue',
        'spec.metrics[0].object.target.value: Invalid value: "-1": must be positive',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'External',
              external: { metric: { name: 'a/b' }, target: { type: 'Value', value: '1', averageValue: '1' } },
            },
          ],
        },
      },
      [
        'spec.metrics[0].external.metric.name: Invalid value: "a/b": may not contain \'/\'',
        'spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [{ type: 'Pods', pods: { metric: { name: 'a' }, target: { type: 'Value', value: '0' } } }],
        },
      },
      [
        'spec.metrics[0].pods.target.value: Invalid value: "0": must be positive',
        'spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'ContainerResource',
              containerResource: {
                name: 'x',
                container: 'A_',
                target: { type: 'Utilization', averageUtilization: 0, averageValue: '0' },
              },
            },
          ],
        },
      },
      [
        'spec.metrics[0].containerResource.name: Invalid value: "x": must be a standard resource type or fully qualified',
        'spec.metrics[0].containerResource.name: Invalid value: "x": must be a standard resource for containers',
        "spec.metrics[0].containerResource.container: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        'spec.metrics[0].containerResource.target.averageValue: Invalid value: "0": must be positive',
        'spec.metrics[0].containerResource.target.averageUtilization: Invalid value: 0: must be greater than 0',
        'spec.metrics[0].containerResource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          behavior: {
            scaleUp: {
              stabilizationWindowSeconds: 3601,
              selectPolicy: 'x',
              policies: [{ type: 'x', value: 0, periodSeconds: 1801 }, {}],
            },
            scaleDown: { stabilizationWindowSeconds: -1, policies: [], tolerance: '-1' },
          },
        },
      },
      [
        'spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
        'spec.behavior.scaleUp.selectPolicy: Unsupported value: "x": supported values: "Disabled", "Max", "Min"',
        'spec.behavior.scaleUp.policies[0].type: Unsupported value: "x": supported values: "Percent", "Pods"',
        'spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero',
        'spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
        'spec.behavior.scaleUp.policies[1].type: Unsupported value: "": supported values: "Percent", "Pods"',
        'spec.behavior.scaleUp.policies[1].value: Invalid value: 0: must be greater than zero',
        'spec.behavior.scaleUp.policies[1].periodSeconds: Invalid value: 0: must be greater than zero',
        'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero',
        'spec.behavior.scaleDown.tolerance: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          minReplicas: 0,
        },
      },
      [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ],
    ],
  ],
  updates: {
    of: {
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 3 },
    },
    patches: [
      [{ spec: { maxReplicas: 5 } }, '', 0],
      [
        { spec: { minReplicas: 9 } },
        '',
        ['spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`'],
      ],
      [
        {
          status: {
            currentReplicas: 1,
            desiredReplicas: 2,
            currentMetrics: [
              {
                type: 'Resource',
                resource: { name: 'cpu', current: { averageUtilization: 30, averageValue: '10m' } },
              },
            ],
            conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
          },
        },
        'status',
        0,
      ],
      [
        { status: { currentReplicas: -1 } },
        'status',
        ['status.currentReplicas: Invalid value: -1: must be greater than or equal to 0'],
      ],
    ],
  },
});

testKind(scalerV1Strategy, {
  created: [
    [
      { spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 3 } },
      {
        spec: {
          minReplicas: 1,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          targetCPUUtilizationPercentage: 80,
        },
        status: { currentReplicas: 0, desiredReplicas: 0 },
      },
    ],
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          targetCPUUtilizationPercentage: 40,
          minReplicas: 2,
        },
      },
      {
        spec: {
          minReplicas: 2,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          targetCPUUtilizationPercentage: 40,
        },
        status: { currentReplicas: 0, desiredReplicas: 0 },
      },
    ],
    [
      {
        metadata: {
          annotations: {
            'autoscaling.alpha.kubernetes.io/metrics':
              '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]',
            own: 'x',
          },
        },
        spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 3 },
      },
      {
        metadata: {
          annotations: {
            own: 'x',
            'autoscaling.alpha.kubernetes.io/metrics':
              '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]',
          },
        },
        spec: {
          minReplicas: 1,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
        },
        status: { currentReplicas: 0, desiredReplicas: 0 },
      },
    ],
  ],
  rejected: [
    [
      {
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
          maxReplicas: 3,
          targetCPUUtilizationPercentage: 0,
        },
      },
      ['spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0'],
    ],
    [
      { spec: { scaleTargetRef: {}, maxReplicas: 0 } },
      [
        'spec.maxReplicas: Required value: must be set and greater than 0',
        'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
        'spec.scaleTargetRef.kind: Required value',
        'spec.scaleTargetRef.name: Required value',
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
      ],
    ],
  ],
  updates: {
    of: {
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 3 },
    },
    patches: [
      [{ spec: { targetCPUUtilizationPercentage: 10 } }, '', 0],
      [
        { status: { currentReplicas: 1, desiredReplicas: 1, currentCPUUtilizationPercentage: 5 } },
        'status',
        0,
      ],
    ],
  },
});
