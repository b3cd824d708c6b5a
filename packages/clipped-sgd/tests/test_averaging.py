import copy

import numpy as np
import pytest
import torch
from iclr26_clipped_sgd import AnytimeSchedule, ClippedSGD, WeightedAverage


def test_it_is_the_weighted_mean_of_the_iterates_along_a_run():
    torch.manual_seed(0)
    schedule = AnytimeSchedule(2.0, 1.0, 1.0, 1.0, step_scale=300.0)
    model = torch.nn.Linear(4, 2).double()
    optimizer, average = ClippedSGD(model.parameters(), schedule), WeightedAverage(model)
    iterates, weights = [], []
    for k in range(40):
        weights.append(schedule.step_size(k))
        average.update(model, weights[-1])
        iterates.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy().copy())
        optimizer.zero_grad()
        model(torch.randn(3, 4, dtype=torch.float64)).square().mean().backward()
        optimizer.step()
    expected = np.average(iterates, axis=0, weights=weights)
    got = torch.nn.utils.parameters_to_vector(average.module.parameters()).detach().numpy()
    np.testing.assert_allclose(got, expected, atol=1e-14)
    target = copy.deepcopy(model)
    average.copy_to(target)
    np.testing.assert_array_equal(torch.nn.utils.parameters_to_vector(target.parameters()).detach().numpy(), got)


def test_a_saved_average_continues():
    model = torch.nn.Linear(2, 1)
    whole, first = WeightedAverage(model), WeightedAverage(model)
    for value, weight in ((1.0, 1.0), (2.0, 3.0), (7.0, 0.5)):
        torch.nn.init.constant_(model.weight, value)
        whole.update(model, weight)
        if value < 5:
            first.update(model, weight)
    second = WeightedAverage(torch.nn.Linear(2, 1))
    second.load_state_dict(first.state_dict())
    second.update(model, 0.5)
    assert torch.equal(second.module.weight, whole.module.weight)
    torch.testing.assert_close(whole.module.weight[0, 0].item(), (1 + 6 + 3.5) / 4.5, rtol=1e-6, atol=0)


def test_zero_weight_changes_nothing_and_bad_weights_are_refused():
    model = torch.nn.Linear(2, 1)
    average = WeightedAverage(model)
    average.update(model, 0.0)
    with pytest.raises(RuntimeError, match="before the first update"):
        average.copy_to(model)
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"weight.*{bad}"):
            average.update(model, bad)


def test_the_model_is_not_changed_by_averaging():
    model = torch.nn.Linear(2, 1)
    average = WeightedAverage(model)
    average.update(model, 1.0)
    before = average.module.weight.detach().clone()
    torch.nn.init.constant_(model.weight, 9.0)
    assert torch.equal(average.module.weight, before)
