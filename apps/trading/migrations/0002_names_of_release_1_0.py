from django.db import migrations, models


class Migration(migrations.Migration):
    """Make a constraint of a database of release 1.0 anew: its text is of a column since renamed."""

    dependencies = [('trading', '0001_release_1_0')]

    operations = [
        migrations.RemoveConstraint('barstream', 'a_lane_goes_forward'),
        migrations.AddConstraint('barstream', models.CheckConstraint(condition=models.Q(('row_time', None), models.Q(('row_time__gte', models.F('segment_start')), ('segment_start__isnull', False)), _connector='OR'), name='a_lane_goes_forward')),
    ]
