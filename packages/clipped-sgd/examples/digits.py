"""Logistic regression on scikit-learn's digits with ClippedSGD: clip level and moment order from the measured noise."""

import torch
from iclr26_clipped_sgd import ClippedSGD, PowerSchedule, estimate_sigma, gradient_noise, hill
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features, target = load_digits(return_X_y=True)
split = train_test_split(torch.tensor(features / 16.0, dtype=torch.float32), torch.tensor(target), random_state=0)
train_x, test_x, train_y, test_y = split
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=16, shuffle=True)
model = torch.nn.Linear(64, 10)

noise = gradient_noise(model, lambda m, b: cross_entropy(m(b[0]), b[1]), loader, n_batches=500)
tail = hill(noise.norms)
low, high = tail.interval()
alpha = min(2.0, tail.alpha - tail.stderr)
clip = noise.gradient_norm + estimate_sigma(noise.norms, alpha)
print(f"tail index {tail.alpha:.2f} [{low:.2f}, {high:.2f}] -> alpha = {alpha:.2f}, first clip level {clip:.2f}")

optimizer = ClippedSGD(model.parameters(), PowerSchedule(lr=2.0, clip=clip, alpha=alpha))
clipped = steps = 0
for _ in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
        clipped, steps = clipped + int(optimizer.last_step.sync().clipped), steps + 1

accuracy = (model(test_x).argmax(1) == test_y).float().mean()
print(f"test accuracy {accuracy:.3f} after {steps} steps, {clipped / steps:.1%} of them clipped")
